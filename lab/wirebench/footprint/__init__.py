"""What it costs to depend on a library: packages, bytes, build time, start and memory."""
