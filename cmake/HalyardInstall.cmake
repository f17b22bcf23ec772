# install rules: headers, library, package files. Completed with the package config.
