"""Pictures that people upload: which format one is, what of it is kept, which files are left over."""
