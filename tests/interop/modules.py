# SPDX-License-Identifier: Apache-2.0
"""Small PyTorch modules, one for each way in which packages differ."""

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    def __init__(self, width=64, activation=F.gelu):
        super().__init__()
        self.up, self.down = nn.Linear(width, 96), nn.Linear(96, width)
        self.activation = activation

    def forward(self, x):
        return self.down(self.activation(self.up(x)))


class Activations(nn.Module):
    """One output for each function."""

    functions = [
        F.relu, F.silu, F.sigmoid, F.tanh, F.softplus, F.softsign, F.elu, F.leaky_relu, F.hardswish, F.hardsigmoid,
        F.relu6, F.mish, torch.erf, F.gelu, lambda x: F.gelu(x, approximate="tanh"),
        lambda x: F.hardtanh(x, -0.5, 0.25)]

    def forward(self, x):
        return tuple(f(x) for f in self.functions)


class ConvAndLinear(nn.Module):
    """Weights of every kind that coremltools compresses, all above its threshold of 2048 elements."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(64, 64, 1), nn.Conv2d(64, 64, 3, padding=1, groups=2)
        self.up, self.down = nn.Linear(64, 96), nn.Linear(96, 64, bias=False)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        return self.down(F.silu(self.up(x.mean((2, 3)))))

    def compressible(self):
        return [self.conv1, self.conv2, self.up, self.down]


class Cnn(nn.Module):
    """Strides, dilation, groups, batch norm and a residual; no pooling."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.depthwise = nn.Conv2d(8, 8, 3, padding=2, dilation=2, groups=8)
        self.pointwise = nn.Conv2d(8, 16, 1)
        self.squeeze, self.excite = nn.Conv2d(16, 4, 1), nn.Conv2d(4, 16, 1)
        self.body = nn.Conv2d(16, 16, (3, 5), padding=(1, 2), padding_mode="reflect")
        self.norm = nn.GroupNorm(4, 16)
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        x = F.leaky_relu(self.pointwise(F.hardswish(self.depthwise(self.stem(x)))), 0.1)
        x = x * torch.sigmoid(self.excite(F.silu(self.squeeze(x.mean((2, 3), keepdim=True)))))
        x = x + F.elu(self.norm(self.body(x)))
        return F.softmax(self.head(x.amax((2, 3)) + x.flatten(2).mean(-1)), dim=-1)


class Conv1dStack(nn.Module):
    """Causal convolutions over [batch, channels, time], as audio models have."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Conv1d(6, 6, 3, dilation=d) for d in (1, 2, 4))
        self.norm = nn.InstanceNorm1d(6, affine=True)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = x + torch.tanh(layer(F.pad(x, (2 * 2**i, 0))))
        return F.softplus(self.norm(x))


class EncoderBlock(nn.Module):
    """A post-norm transformer encoder layer over embedded ids, attention written out."""

    def __init__(self, width=32, heads=4, vocabulary=50):
        super().__init__()
        self.heads = heads
        self.embedding, self.position = nn.Embedding(vocabulary, width), nn.Embedding(64, width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def attention(self, q, k, v):
        scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
        return F.softmax(scores, -1) @ v

    def forward(self, ids):
        x = self.embedding(ids) + self.position(torch.arange(ids.shape[1]))
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        x = self.norm1(x + self.out(self.attention(q, k, v).transpose(1, 2).flatten(2)))
        return self.norm2(x + self.down(F.gelu(self.up(x), approximate="tanh")))


class FusedEncoderBlock(EncoderBlock):
    def attention(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v)


class MaskedEncoderBlock(EncoderBlock):
    def attention(self, q, k, v):
        mask = torch.ones(q.shape[-2], k.shape[-2]).tril() > 0
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)


class Tokens(nn.Module):
    """Attention over a sequence of any length: shapes that are computed while it runs."""

    def __init__(self, width=16, heads=2):
        super().__init__()
        self.heads = heads
        self.qkv, self.out, self.norm = nn.Linear(width, 3 * width), nn.Linear(width, width), nn.LayerNorm(width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        scores = (q @ k.transpose(-1, -2)).masked_fill(torch.ones(length, length).triu(1).bool(), -1e4)
        y = (F.softmax(scores, -1) @ v).transpose(1, 2).reshape(batch, length, width)
        return x + self.out(y)


class CachedAttention(nn.Module):
    """One step of attention over caches [1, heads, context, dim] that are states."""

    def __init__(self, width=16, heads=2, context=12):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.register_buffer("keys", torch.zeros(1, heads, context, width // heads))
        self.register_buffer("values", torch.zeros(1, heads, context, width // heads))

    def forward(self, x, mask):
        length = x.shape[1]
        end = mask.shape[-1]
        q, k, v = (t.view(1, length, self.heads, -1).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        self.keys[:, :, end - length:end, :] = k
        self.values[:, :, end - length:end, :] = v
        keys, values = self.keys[:, :, :end, :], self.values[:, :, :end, :]
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return self.out(y.transpose(1, 2).reshape(1, length, -1))


class Counter(nn.Module):
    """Two states: one that accumulates what it sees, one that counts the calls."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3, 4))
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x):
        self.total.add_(x)
        self.calls.add_(1)
        return self.total * 2, self.total / self.calls


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.head = nn.Conv2d(3, 8, 3, stride=2), nn.Linear(8, 3)

    def forward(self, x):
        return F.softmax(self.head(F.relu(self.conv(x)).mean((2, 3))), -1)


class Squeezed(nn.Module):
    def forward(self, x):
        return torch.squeeze(x) * 2


class Brightness(nn.Module):
    """Of pixels that may be bytes."""

    def forward(self, x):
        return x.float() * 2 + 1


class Mirror(nn.Module):
    def forward(self, x):
        return torch.flip(x, [3])


class Recurrent(nn.Module):
    """coremltools writes it as a loop over time."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 8, batch_first=True)

    def forward(self, x):
        return self.gru(x)[0]


class Indexing(nn.Module):
    """What decoders do around their attention: rotation, selection, masks, sorting."""

    def forward(self, x, ids):
        angles = torch.arange(x.shape[1])[:, None] * torch.tensor([1.0, 0.25])[None]
        cos, sin = torch.cat([angles.cos()] * 2, -1), torch.cat([angles.sin()] * 2, -1)
        half = x.shape[-1] // 2
        rotated = x * cos + torch.cat([-x[..., half:], x[..., :half]], -1) * sin
        chosen = torch.gather(rotated, 1, ids[..., None].expand(-1, -1, x.shape[-1]).long())
        best = torch.topk(chosen, 2, dim=1).values
        rms = best * torch.rsqrt(best.pow(2).mean(-1, keepdim=True) + 1e-6)
        return torch.where(rms > 0, rms, rms.abs().sqrt()), torch.argmax(chosen, dim=-1), torch.cumsum(chosen, 1)
