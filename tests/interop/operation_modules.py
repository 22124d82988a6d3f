# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules around the operations of vision and sequence models: one output for each way to use one."""

import torch
from torch import nn
from torch.nn import functional as F


class Outputs(nn.Module):
    """Gives what each of its layers gives to the same input."""

    def __init__(self, *layers):
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, *x):
        return tuple(layer(*x) for layer in self.layers)


class Function(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, *x):
        return self.f(*x)


def outputs(*layers):
    return Outputs(*[layer if isinstance(layer, nn.Module) else Function(layer) for layer in layers])


def convolutions(spatial):
    conv = (nn.Conv1d, nn.Conv2d, nn.Conv3d)[spatial - 1]
    return outputs(conv(6, 8, 3), conv(6, 9, 3, padding=1, groups=3, stride=2), conv(6, 4, 2, dilation=2, bias=False),
                   conv(6, 6, 3, padding="same", groups=6))


def transposed_convolutions(spatial):
    conv = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)[spatial - 1]
    layers = [conv(6, 4, 3), conv(6, 4, 4, stride=2, padding=1), conv(6, 6, 3, stride=2, groups=3, bias=False),
              conv(6, 4, 2, dilation=2)]
    if spatial == 2:
        layers.append(conv(6, 4, 3, stride=2, padding=1, output_padding=1))
    return outputs(*layers)


def poolings(spatial):
    largest = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d)[spatial - 1]
    average = (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d)[spatial - 1]
    layers = [largest(2), largest(3, 2, padding=1), average(2), average(3, 2, padding=1),
              average(3, 2, padding=1, count_include_pad=False)]
    if spatial < 3:
        layers += [largest(3, 2, ceil_mode=True), largest(3, 2, padding=1, ceil_mode=True), average(3, 2, ceil_mode=True),
                   average(3, 2, padding=1, ceil_mode=True), average(2, 2, padding=1, ceil_mode=True, count_include_pad=False)]
    return outputs(*layers)


def activations():
    slopes = nn.PReLU(6)
    with torch.no_grad():
        slopes.weight.uniform_(-1, 1)
    return outputs(slopes, nn.PReLU(), F.selu, F.relu6, F.mish,
                   lambda x: F.threshold(x, 0.5, 0.0), lambda x: F.elu(x, 0.5), lambda x: F.softplus(x, 2.0), torch.atan,
                   lambda x: torch.asin(x / 8), lambda x: torch.acos(x / 8), lambda x: torch.atanh(x / 8), torch.sinh, torch.cosh,
                   lambda x: torch.tan(x / 4), lambda x: F.local_response_norm(x, 3, 0.5, 0.75, 2.0))


def resamplings(target):
    layers = [nn.Upsample(scale_factor=2, mode="nearest"), nn.Upsample(scale_factor=(3, 2), mode="nearest"), nn.PixelShuffle(2),
              lambda x: F.interpolate(x, size=(9, 13), mode="nearest")]
    if target > 15:
        layers.append(nn.PixelUnshuffle(2))
    for corners in (True, False):
        layers += [nn.Upsample(scale_factor=2, mode="bilinear", align_corners=corners),
                   nn.Upsample(size=(12, 24), mode="bilinear", align_corners=corners),
                   nn.Upsample(size=(3, 4), mode="bilinear", align_corners=corners)]
    return outputs(*layers)


def grids():
    return outputs(*[lambda x, at, m=mode, p=padding, a=corners: F.grid_sample(x, at, mode=m, padding_mode=p, align_corners=a)
                     for mode in ("bilinear", "nearest") for padding in ("zeros", "border", "reflection") for corners in (True, False)])


class AffineMap(nn.Module):
    """Samples along a map that is a constant; the converter cannot find one that is an input."""

    def __init__(self, corners):
        super().__init__()
        self.register_buffer("theta", torch.randn(2, 2, 3))
        self.corners = corners

    def forward(self, x):
        at = F.affine_grid(self.theta, (2, 3, 5, 4), align_corners=self.corners)
        return F.grid_sample(x, at, align_corners=self.corners)


class Sequences(nn.Module):
    """All steps and the last states of a recurrent layer."""

    def __init__(self, kind, **options):
        super().__init__()
        self.layer = kind(5, 6, **options)

    def forward(self, x):
        steps, last = self.layer(x)
        return (steps, *last) if isinstance(last, tuple) else (steps, last)


class FlexiblePicture(nn.Module):
    """Down and up again, for pictures of any size."""

    def __init__(self):
        super().__init__()
        self.down = nn.Sequential(nn.Conv2d(3, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.AvgPool2d(3, 1, padding=1))
        self.up = nn.Sequential(nn.ConvTranspose2d(6, 4, 2, stride=2), nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False),
                                nn.Upsample(scale_factor=2, mode="nearest"), nn.PixelShuffle(2))

    def forward(self, x):
        return self.up(self.down(x))
