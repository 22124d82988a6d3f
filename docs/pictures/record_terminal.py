#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a terminal session as a picture (SVG): types each line into a shell with a pseudo-terminal, and draws what the
terminal shows at the end. Run by hand when what a command shows has changed; needs pyte (pip install pyte).

usage: record_terminal.py OUT.svg [--columns N] [--rows N] [--wait SECONDS] LINE...
A LINE is typed when the terminal has been silent for a while; the first ones are shell commands, further ones go to
whatever program they started.
"""
import argparse
import html
import os
import pty
import select
import struct
import fcntl
import termios
import time

import pyte

COLOURS = {"default": "#d8dee9", "red": "#e06c75", "green": "#98c379", "brown": "#d6b36a", "blue": "#61afef",
           "magenta": "#c678dd", "cyan": "#56b6c2", "white": "#ffffff", "black": "#5c6370", "brightblack": "#7f8896"}
CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 19, 14


def read_until_silent(terminal, stream, seconds):
    """Feeds what comes until nothing has come for `seconds`."""
    while select.select([terminal], [], [], seconds)[0]:
        try:
            stream.feed(os.read(terminal, 65536))
        except OSError:
            return


def record(arguments):
    screen = pyte.Screen(arguments.columns, arguments.rows)
    stream = pyte.ByteStream(screen)
    pid, terminal = pty.fork()
    if pid == 0:
        environment = dict(os.environ, PS1="$ ", TERM="xterm-256color")
        os.execvpe("bash", ["bash", "--norc", "--noprofile"], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", arguments.rows, arguments.columns, 0, 0))
    read_until_silent(terminal, stream, 0.5)
    for line in arguments.lines:
        os.write(terminal, line.encode() + b"\r")
        time.sleep(0.2)
        read_until_silent(terminal, stream, arguments.wait)
    os.close(terminal)
    return screen


def runs_of(row, columns):
    """The cells of a row as (column, text, colour, is_bold), neighbours of one look together."""
    runs = []
    for column in range(columns):
        cell = row[column]
        look = (COLOURS.get(cell.fg, COLOURS["default"]), cell.bold)
        if runs and (runs[-1][2], runs[-1][3]) == look:
            runs[-1][1] += cell.data
        else:
            runs.append([column, cell.data, *look])
    return [run for run in runs if run[1].strip()]


def draw(screen, path):
    used = max((y for y in range(screen.lines) if runs_of(screen.buffer[y], screen.columns)), default=0) + 1
    width, height = MARGIN * 2 + CELL_WIDTH * screen.columns, MARGIN * 2 + CELL_HEIGHT * used
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
             f'font-family="ui-monospace,Menlo,Consolas,monospace" font-size="14">',
             f'<rect width="100%" height="100%" rx="8" fill="#21252b"/>']
    for y in range(used):
        for column, text, colour, is_bold in runs_of(screen.buffer[y], screen.columns):
            stripped = text.rstrip()
            lead = len(stripped) - len(stripped.lstrip())
            stripped = stripped.lstrip()
            bold = ' font-weight="bold"' if is_bold else ""
            lines.append(f'<text x="{MARGIN + CELL_WIDTH * (column + lead):.1f}" y="{MARGIN + CELL_HEIGHT * (y + 0.75):.1f}" '
                         f'textLength="{CELL_WIDTH * len(stripped):.1f}" fill="{colour}"{bold} '
                         f'xml:space="preserve">{html.escape(stripped)}</text>')
    lines.append("</svg>\n")
    with open(path + ".partial", "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    os.replace(path + ".partial", path)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("lines", nargs="+")
    parser.add_argument("--columns", type=int, default=88)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--wait", type=float, default=2.0, help="silence that ends the output of a line, in seconds")
    arguments = parser.parse_args()
    draw(record(arguments), arguments.out)


if __name__ == "__main__":
    main()
