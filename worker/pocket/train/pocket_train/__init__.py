"""Makes the built-in model: tokenizer, data, training on the CPU, the files, and their score."""
