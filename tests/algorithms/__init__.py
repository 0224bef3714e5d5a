"""Tests of the package `algorithms`."""
