// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// objc_msgSend and its forms for x86-64 (System V ABI): they find the method of a message and jump to it
// with all arguments as they came. The place in the class's cache (abi.h, MethodCache) is read without a
// lock; on a miss halyard_objc_find_method() is called with the arguments saved.
//
// A message to nil answers 0 in every register that a result can be in.

#if !defined(__x86_64__)
#error "the simulated Objective-C runtime is written for x86-64"
#endif

        .text

// save_and_find RECEIVER SELECTOR: r11 = the method. The receiver and the selector are registers; all that
// may hold an argument is kept, with rax, which counts the vector registers of a variadic call.
.macro save_and_find receiver, selector
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $192, %rsp
        movq    %rax, (%rsp)
        movq    %rdi, 8(%rsp)
        movq    %rsi, 16(%rsp)
        movq    %rdx, 24(%rsp)
        movq    %rcx, 32(%rsp)
        movq    %r8, 40(%rsp)
        movq    %r9, 48(%rsp)
        movups  %xmm0, 64(%rsp)
        movups  %xmm1, 80(%rsp)
        movups  %xmm2, 96(%rsp)
        movups  %xmm3, 112(%rsp)
        movups  %xmm4, 128(%rsp)
        movups  %xmm5, 144(%rsp)
        movups  %xmm6, 160(%rsp)
        movups  %xmm7, 176(%rsp)
        pushq   %r10            // the class
        pushq   %r10
        movq    \receiver, %rdi
        movq    \selector, %rsi
        movq    %r10, %rdx
        call    halyard_objc_find_method
        movq    %rax, %r11
        popq    %r10
        popq    %r10
        movq    (%rsp), %rax
        movq    8(%rsp), %rdi
        movq    16(%rsp), %rsi
        movq    24(%rsp), %rdx
        movq    32(%rsp), %rcx
        movq    40(%rsp), %r8
        movq    48(%rsp), %r9
        movups  64(%rsp), %xmm0
        movups  80(%rsp), %xmm1
        movups  96(%rsp), %xmm2
        movups  112(%rsp), %xmm3
        movups  128(%rsp), %xmm4
        movups  144(%rsp), %xmm5
        movups  160(%rsp), %xmm6
        movups  176(%rsp), %xmm7
        leave
        .cfi_def_cfa %rsp, 8
.endm

// find_and_jump RECEIVER SELECTOR SELECTOR32: r10 is the class.
.macro find_and_jump receiver, selector, selector32
        movq    16(%r10), %r11          // the cache; a class without one has the empty one
        pushq   %rbx
        movq    %r11, %rbx
        movl    \selector32, %r11d
        andl    (%rbx), %r11d
        addq    %rbx, %r11
        popq    %rbx
        cmpq    \selector, 16(%r11)
        jne     1f
        jmp     *24(%r11)
1:
        save_and_find \receiver, \selector
        jmp     *%r11
.endm

.macro entry name
        .globl  \name
        .type   \name, @function
        .p2align 4
\name:
        .cfi_startproc
.endm
.macro end name
        .cfi_endproc
        .size   \name, . - \name
.endm

entry objc_msgSend
        testq   %rdi, %rdi
        je      objc_message_to_nil
        movq    (%rdi), %r10
        find_and_jump %rdi, %rsi, %esi
end objc_msgSend

entry objc_message_to_nil
        .hidden objc_message_to_nil
        xorl    %eax, %eax
        xorl    %edx, %edx
        xorps   %xmm0, %xmm0
        xorps   %xmm1, %xmm1
        ret
end objc_message_to_nil

// The result is written to memory that the caller owns, which rdi points to.
entry objc_msgSend_stret
        testq   %rsi, %rsi
        je      2f
        movq    (%rsi), %r10
        find_and_jump %rsi, %rdx, %edx
2:      movq    %rdi, %rax
        ret
end objc_msgSend_stret

// The result is a long double; of two of them, a complex one.
entry objc_msgSend_fpret
        testq   %rdi, %rdi
        je      2f
        movq    (%rdi), %r10
        find_and_jump %rdi, %rsi, %esi
2:      fldz
        ret
end objc_msgSend_fpret

entry objc_msgSend_fp2ret
        testq   %rdi, %rdi
        je      2f
        movq    (%rdi), %r10
        find_and_jump %rdi, %rsi, %esi
2:      fldz
        fldz
        ret
end objc_msgSend_fp2ret

// rdi points to the receiver and the class whose superclass's method is meant.
entry objc_msgSendSuper2
        movq    8(%rdi), %r10
        movq    8(%r10), %r10
        movq    (%rdi), %rdi
        find_and_jump %rdi, %rsi, %esi
end objc_msgSendSuper2

entry objc_msgSendSuper2_stret
        movq    8(%rsi), %r10
        movq    8(%r10), %r10
        movq    (%rsi), %rsi
        find_and_jump %rsi, %rdx, %edx
end objc_msgSendSuper2_stret

// rdi points to the receiver and the class whose own method is meant.
entry objc_msgSendSuper
        movq    8(%rdi), %r10
        movq    (%rdi), %rdi
        find_and_jump %rdi, %rsi, %esi
end objc_msgSendSuper

entry objc_msgSendSuper_stret
        movq    8(%rsi), %r10
        movq    (%rsi), %rsi
        find_and_jump %rsi, %rdx, %edx
end objc_msgSendSuper_stret

        .section .note.GNU-stack,"",@progbits
