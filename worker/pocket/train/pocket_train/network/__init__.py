"""The network in JAX, on a flat dictionary of weights named as mlx-vlm names them: what is learned here loads there."""
