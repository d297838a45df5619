"""Whether anything but a value or our own error comes out of the readers of foreign text, whatever goes in."""
