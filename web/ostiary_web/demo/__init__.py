"""`ostiary demo`: the server with sample data, and a small third-party backend that signs in with it."""

from ostiary_web.demo.running import run_demo

__all__ = ["run_demo"]
