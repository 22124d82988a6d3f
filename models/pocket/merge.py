# SPDX-License-Identifier: Apache-2.0
"""Averages the weights of two checkpoints: the last step of making the pocket model.

    python merge.py FIRST SECOND --share 0.5 --out checkpoint

Writes (1 - share) * FIRST + share * SECOND, in bf16.  SECOND must have been
trained on from FIRST.  A short last stage learns new skills and unsettles old
ones; weights between the two keep most of both (Wortsman et al. 2022, "Robust
fine-tuning of zero-shot models").
"""

import argparse

import model as pocket


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("first")
    parser.add_argument("second")
    parser.add_argument("--share", type=float, default=0.5, help="of the second checkpoint")
    parser.add_argument("--out", default="checkpoint", help="folder; its tokenizer stays as it is")
    args = parser.parse_args()

    model = pocket.load(args.first)
    first, second = model.state_dict(), pocket.load(args.second).state_dict()
    model.load_state_dict({name: w.lerp(second[name], args.share) for name, w in first.items()})
    pocket.save(model, args.out)


if __name__ == "__main__":
    main()
