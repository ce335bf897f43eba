"""The model's dimensions, in the words of its config.json."""

from typing import Any

VOCABULARY_TOKENS = 6144
"""Rows of the embedding."""
HIDDEN = 96
"""Width of the text layers; what the towers project to."""
WINDOW_TOKENS = 65_536
"""Longest prompt with its answer."""

PATCH_PIXELS = 16
"""Side of a patch of a picture."""
POOLED_PATCHES = 3
"""Patches pooled to one token in each direction."""
PICTURE_TOKENS = 16
"""Most tokens of a picture; a square one has all of them."""
PICTURE_PIXELS = 192
"""Side of a square picture once the processor has scaled it to its tokens."""

MEL_BINS = 128
"""Bands of the audio front end, which every model of the family has."""
FRAMES_PER_TOKEN = 4
"""Mel frames of 10 ms behind one audio token."""
LONGEST_CLIP_TOKENS = 750
"""30 s: the limit of the audio tower."""

_SLIDING, _FULL = "sliding_attention", "full_attention"
_LAYERS = [_SLIDING, _SLIDING, _FULL] * 2

TEXT: dict[str, Any] = {
    "model_type": "gemma4_text",
    "hidden_size": HIDDEN,
    "num_hidden_layers": len(_LAYERS),
    "intermediate_size": 192,
    "num_attention_heads": 4,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "global_head_dim": 64,
    "num_kv_shared_layers": 3,
    "hidden_size_per_layer_input": 16,
    "vocab_size": VOCABULARY_TOKENS,
    "vocab_size_per_layer_input": VOCABULARY_TOKENS,
    "sliding_window": 48,
    "sliding_window_pattern": 3,
    "layer_types": _LAYERS,
    "use_double_wide_mlp": True,
    "final_logit_softcapping": 30.0,
    "max_position_embeddings": WINDOW_TOKENS,
    "rms_norm_eps": 1e-06,
    "attention_k_eq_v": False,
    "use_bidirectional_attention": None,
    "tie_word_embeddings": True,
    "pad_token_id": 0,
    "bos_token_id": 2,
    "eos_token_id": 1,
    "rope_parameters": {
        _FULL: {"partial_rotary_factor": 0.25, "rope_theta": 1_000_000.0, "rope_type": "proportional"},
        _SLIDING: {"rope_theta": 10_000.0, "rope_type": "default"},
    },
}
VISION: dict[str, Any] = {
    "model_type": "gemma4_vision",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 16,
    "global_head_dim": 16,
    "patch_size": PATCH_PIXELS,
    "pooling_kernel_size": POOLED_PATCHES,
    "position_embedding_size": 256,
    "default_output_length": PICTURE_TOKENS,
    "use_clipped_linears": False,
    "standardize": False,
    "rms_norm_eps": 1e-06,
}
AUDIO: dict[str, Any] = {
    "model_type": "gemma4_audio",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "subsampling_conv_channels": [16, 8],
    "conv_kernel_size": 5,
    "attention_chunk_size": 12,
    "attention_context_left": 13,
    "attention_context_right": 0,
    "output_proj_dims": HIDDEN,
    "use_clipped_linears": True,
    "residual_weight": 0.5,
}
PROCESSOR: dict[str, Any] = {
    "processor_class": "Gemma4Processor",
    "audio_ms_per_token": 40,
    "audio_seq_length": LONGEST_CLIP_TOKENS,
    "image_seq_length": PICTURE_TOKENS,
    "image_processor": {
        "image_processor_type": "Gemma4ImageProcessor",
        "patch_size": PATCH_PIXELS,
        "max_soft_tokens": PICTURE_TOKENS,
        "pooling_kernel_size": POOLED_PATCHES,
        "do_resize": True,
        "do_rescale": True,
        "rescale_factor": 1 / 255,
        "do_normalize": False,
        "do_convert_rgb": True,
    },
    "feature_extractor": {
        "feature_extractor_type": "Gemma4AudioFeatureExtractor",
        "feature_size": MEL_BINS,
        "sampling_rate": 16_000,
        "frame_length_ms": 20.0,
        "hop_length_ms": 10.0,
    },
}
GENERATION: dict[str, Any] = {
    "bos_token_id": 2,
    "eos_token_id": [1, 106, 50],
    "pad_token_id": 0,
    "do_sample": True,
    "temperature": 1.0,
    "top_k": 64,
    "top_p": 0.95,
}


def config(vocabulary: dict[str, int]) -> dict[str, Any]:
    """The config.json for a vocabulary, whose media tokens it names by id."""
    return {
        "architectures": ["Gemma4ForConditionalGeneration"],
        "model_type": "gemma4",
        "dtype": "float32",
        "tie_word_embeddings": True,
        "vocab_size": VOCABULARY_TOKENS,
        "image_token_id": vocabulary["<|image|>"],
        "audio_token_id": vocabulary["<|audio|>"],
        "video_token_id": vocabulary["<|video|>"],
        "boi_token_id": vocabulary["<|image>"],
        "eoi_token_id": vocabulary["<image|>"],
        "boa_token_id": vocabulary["<|audio>"],
        "eoa_token_id": vocabulary["<audio|>"],
        "eos_token_id": [1, 106],
        "pad_token_id": 0,
        "vision_soft_tokens_per_image": PICTURE_TOKENS,
        "text_config": TEXT,
        "vision_config": VISION,
        "audio_config": AUDIO,
    }
