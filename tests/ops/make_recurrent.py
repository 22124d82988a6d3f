# SPDX-License-Identifier: Apache-2.0
"""Writes the data files of lstm, gru and rnn, in float64. Run: python3 tests/ops/make_recurrent.py"""

import numpy as np

from cases import Cases, boolean, fp16, fp32, text

random = np.random.default_rng(29)
ACTIVATIONS = {
    "tanh": np.tanh, "scaled_tanh": np.tanh, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "relu": lambda x: np.maximum(x, 0),
    "hard_sigmoid": lambda x: np.clip(0.2 * x + 0.5, 0, 1), "sigmoid_hard": lambda x: np.clip(0.2 * x + 0.5, 0, 1), "linear": lambda x: x,
}
S, B, I, H = 3, 2, 2, 3


def values(*shape):
    return np.round(random.standard_normal(shape) * 8) / 16


def over(x, direction):
    return x[::-1] if direction == "reverse" else x


def lstm(p, x, h, c, suffix, f, g, k, clip):
    out = []
    w, r = p["weight_ih" + suffix], p["weight_hh" + suffix]
    b = p.get("bias" + suffix, np.zeros(4 * H))
    pi, pf, po = np.split(p.get("peephole" + suffix, np.zeros(3 * H)), 3)
    for step in x:
        i, forget, o, z = np.split(step @ w.T + h @ r.T + b, 4, axis=1)
        c = f(forget + pf * c) * c + f(i + pi * c) * g(z)
        c = c if clip is None else np.clip(c, -clip, clip)
        h = f(o + po * c) * k(c)
        out.append(h)
    return np.array(out).reshape(len(x), *h.shape), h, c


def lstm_layer(p):
    f, g, k = (ACTIVATIONS[p.get(n, d)] for n, d in (("recurrent_activation", "sigmoid"), ("cell_activation", "tanh"), ("activation", "tanh")))
    direction, clip = p.get("direction", "forward"), p.get("clip")
    if direction == "bidirectional":
        h, c = np.split(p["initial_h"], 2, 1), np.split(p["initial_c"], 2, 1)
        one = lstm(p, p["x"], h[0], c[0], "", f, g, k, clip)
        two = lstm(p, p["x"][::-1], h[1], c[1], "_back", f, g, k, clip)
        all_steps = np.concatenate([one[0], two[0][::-1]], -1)
        h, c = np.concatenate([one[1], two[1]], -1), np.concatenate([one[2], two[2]], -1)
    else:
        all_steps, h, c = lstm(p, over(p["x"], direction), p["initial_h"], p["initial_c"], "", f, g, k, clip)
    return [all_steps if p.get("output_sequence") else h[None], h, c]


def gru_layer(p):
    f, g = ACTIVATIONS[p.get("recurrent_activation", "sigmoid")], ACTIVATIONS[p.get("activation", "tanh")]
    wr, wo, wz = np.split(p["weight_ih"], 3)
    rr, ro, rz = np.split(p["weight_hh"], 3)
    br, bo, bz = np.split(p.get("bias", np.zeros(3 * H)), 3)
    ir, io, iz = np.split(p.get("input_bias", np.zeros(3 * H)), 3)
    h, out = p["initial_h"], []
    for x in over(p["x"], p.get("direction")):
        r = f(x @ wr.T + ir + h @ rr.T + br)
        z = f(x @ wz.T + iz + h @ rz.T + bz)
        inner = r * (h @ ro.T + bo) if p.get("reset_after") else (r * h) @ ro.T + bo
        h = (1 - z) * g(x @ wo.T + io + inner) + z * h
        out.append(h)
    return [np.array(out) if p.get("output_sequence") else h[None], h]


def rnn_layer(p):
    f = ACTIVATIONS[p.get("activation", "tanh")]
    h, out = p["initial_h"], []
    for x in over(p["x"], p.get("direction")):
        h = f(x @ p["weight_ih"].T + h @ p["weight_hh"].T + p.get("bias", 0))
        out.append(h)
    return [np.array(out) if p.get("output_sequence") else h[None], h]


def encode(p, kind):
    return {k: text(v) if isinstance(v, str) else boolean(v) if isinstance(v, bool) else kind(v) for k, v in p.items()}


def base(gates, width=H):
    p = {"x": values(S, B, I), "initial_h": values(B, width), "weight_ih": values(gates * H, I), "weight_hh": values(gates * H, H)}
    if gates == 4:
        p["initial_c"] = values(B, width)
    return p


def column(*values):
    return np.array(values, float).reshape(-1, 1)


# One unit whose state grows by x in every step; gates with a bias of 10 are 1.
COUNTERS = {
    "rnn": {"weight_ih": column(1), "weight_hh": column(1)},
    "lstm": {"initial_c": column(1), "weight_ih": column(0, 0, 0, 1), "weight_hh": column(0, 0, 0, 0), "bias": np.array([10.0, 10, 10, 0]),
             "peephole": np.zeros(3), "recurrent_activation": "hard_sigmoid", "cell_activation": "linear"},
    # The update gate is 1/2, the new state 2 x + h.
    "gru": {"weight_ih": column(0, 2, 0), "weight_hh": column(0, 1, 0), "bias": np.array([10.0, 0, 0]), "input_bias": np.zeros(3),
            "recurrent_activation": "hard_sigmoid"},
}


def write(op, gates, layer, extra):
    cases = Cases(op)

    def add(name, p, kind=fp32, opset=None):
        # Rounding errors of the states grow over the steps; fp16 rounds the results alone.
        cases.add(name, encode(p, kind), [kind(y) for y in layer(p)], opset=opset,
                  tolerance={"abs": 1e-3 if kind is fp16 else 1e-5, "rel": 1e-3 if kind is fp16 else 1e-5})

    bias = {"bias": values(gates * H)}
    for kind, name, opset in ((fp32, "fp32", "ios15"), (fp16, "fp16", "ios17")):
        add(f"gives the last step in {name}", {**base(gates), **bias}, kind, opset)
        add(f"gives all steps in {name}", {**base(gates), **bias, "output_sequence": True}, kind, opset)
    add("has no bias by default", {**base(gates), "output_sequence": True})
    add("goes backwards", {**base(gates), **bias, "direction": "reverse", "output_sequence": True})
    add("goes backwards to the last step", {**base(gates), "direction": "reverse"})
    for f in ACTIVATIONS:
        add(f"ends with {f}", {**base(gates), **bias, "activation": f, "output_sequence": True})
        if gates > 1:
            add(f"has gates of {f}", {**base(gates), "recurrent_activation": f})
    extra(add)
    nothing = {**base(gates), "x": values(0, B, I)}
    last = [fp32(nothing["initial_h"])] + ([fp32(nothing["initial_c"])] if gates == 4 else [])
    cases.add("takes no steps", encode({**nothing, "output_sequence": True}, fp32), [fp32(np.zeros((0, B, H)))] + last)
    cases.add("gives the initial state for no steps", encode(nothing, fp32), [fp32(nothing["initial_h"][None])] + last)
    empty = {**base(gates), "x": values(S, 0, I), "initial_h": values(0, H), **({"initial_c": values(0, H)} if gates == 4 else {})}
    cases.add("takes no batch", encode(empty, fp32), [fp32(np.zeros((1, 0, H)))] + [fp32(np.zeros((0, H)))] * (2 if gates == 4 else 1))

    # 64 steps that each add 2^-12 to a state of 1: a state that is rounded to fp16 between the steps stays 1.
    counted = {"x": np.full((64, 1, 1), 2.0**-12), "initial_h": np.ones((1, 1)), "activation": "linear", **COUNTERS[op]}
    for every in (True, False):
        add(f"rounds {'every result' if every else 'the result'} once after 64 steps in fp16", {**counted, "output_sequence": every}, fp16)
        add(f"carries the state of 64 steps in fp32 back to {'every step' if every else 'the last'}", {**counted, "direction": "reverse", "output_sequence": every})

    p = base(gates)
    cases.fail("rejects x of rank 2 (c1)", encode({**p, "x": values(B, I)}, fp32), op + "_c1")
    cases.fail("rejects weights of other inputs (c2)", encode({**p, "weight_ih": values(gates * H, I + 1)}, fp32), op + "_c2")
    cases.fail("rejects weights of other gates (c2)", encode({**p, "weight_hh": values(gates * H + 1, H)}, fp32), op + "_c2")
    cases.fail("rejects weights of no units (c2)", encode({**p, "weight_ih": values(0, I), "weight_hh": values(0, 0)}, fp32), op + "_c2")
    cases.fail("rejects an initial state of another batch (c3)", encode({**p, "initial_h": values(B + 1, H)}, fp32), op + "_c3")
    cases.fail("rejects an initial state of rank 3 (c3)", encode({**p, "initial_h": values(1, B, H)}, fp32), op + "_c3")
    cases.fail("rejects a bias of another length (c4)", encode({**p, "bias": values(H + 1)}, fp32), op + "_c4")
    cases.fail("rejects an unknown direction (c5)", encode({**p, "direction": "up"}, fp32), op + "_c5")
    cases.fail("rejects an unknown activation (c6)", encode({**p, "activation": "swish"}, fp32), op + "_c6")
    cases.fail("rejects fp16 before ios17 (c7)", encode(p, fp16), op + "_c7", opset="ios16")
    cases.fail("rejects two dtypes", {**encode(p, fp32), "initial_h": fp16(p["initial_h"])}, "parameter")
    if gates == 4:
        both = {**base(4, 2 * H), "direction": "bidirectional"}
        cases.fail("rejects a bidirectional layer without a way back (c2)", encode(both, fp32), "lstm_c2")
        cases.fail("rejects a bidirectional layer with states of one direction (c3)", encode({**p, "direction": "bidirectional"}, fp32), "lstm_c3")
        cases.fail("rejects a vector to clip at (c4)", encode({**p, "clip": values(2)}, fp32), "lstm_c4")
    cases.write()


def lstm_extra(add):
    back = {"weight_ih_back": values(4 * H, I), "weight_hh_back": values(4 * H, H)}
    for all_steps in (True, False):
        add(f"goes both ways, {'all steps' if all_steps else 'the last step'}",
            {**base(4, 2 * H), **back, "bias": values(4 * H), "bias_back": values(4 * H), "direction": "bidirectional", "output_sequence": all_steps})
    add("goes both ways in fp16", {**base(4, 2 * H), **back, "direction": "bidirectional", "output_sequence": True}, fp16)
    add("looks through peepholes", {**base(4), "peephole": values(3 * H), "output_sequence": True})
    add("looks through peepholes both ways", {**base(4, 2 * H), **back, "peephole": values(3 * H), "peephole_back": values(3 * H),
                                              "direction": "bidirectional", "output_sequence": True})
    add("clips the cell", {**base(4), "clip": 0.125, "peephole": values(3 * H), "output_sequence": True})
    add("has all that it may have in fp16",
        {**base(4, 2 * H), **back, "bias": values(4 * H), "bias_back": values(4 * H), "peephole": values(3 * H), "peephole_back": values(3 * H),
         "clip": 0.25, "direction": "bidirectional", "output_sequence": True}, fp16)
    for f in ACTIVATIONS:
        add(f"has cells of {f}", {**base(4), "cell_activation": f})


def gru_extra(add):
    for after in (False, True):
        add(f"resets {'after' if after else 'before'} the product with an input bias",
            {**base(3), "bias": values(3 * H), "input_bias": values(3 * H), "reset_after": after, "output_sequence": True}, opset="ios18")
    add("resets after the product in fp16", {**base(3), "bias": values(3 * H), "input_bias": values(3 * H), "reset_after": True}, fp16)
    add("resets after the product without biases", {**base(3), "reset_after": True, "output_sequence": True}, fp16)


write("lstm", 4, lstm_layer, lstm_extra)
write("gru", 3, gru_layer, gru_extra)
write("rnn", 1, rnn_layer, lambda add: None)
