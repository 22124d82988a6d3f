// SPDX-License-Identifier: Apache-2.0
#include "cli/verify_text.h"

namespace anemone::cli {

std::string_view verify_text() {
  return R"text(The harbour lay quiet before sunrise. A single boat moved between the buoys, and the
old man at the rudder counted the strokes of his oars as he had done for forty years. When the first
light touched the roofs he stopped, listened, and turned back: the wind had changed, and a change of
wind in October meant rain before noon.

Question: Which is heavier, a litre of water or a litre of oil?
Answer: A litre of water. Oil is less dense than water, which is why it floats.

"Did you bring the keys?" she asked.
"I thought you had them," he said, and both of them began to laugh.

The capital of France is Paris, the capital of Japan is Tokyo, and the capital of Canada is Ottawa.
Water boils at 100 degrees Celsius at sea level and freezes at 0 degrees. Light travels about 300,000
kilometres in one second. 12 + 30 = 42, 7 * 8 = 56, and one half of 90 is 45.

def greatest_common_divisor(a, b):
    while b != 0:
        a, b = b, a % b
    return a

for (int i = 0; i < count; ++i) {
  total += values[i] * weights[i];
}

{"name": "sample", "size": 3, "items": ["red", "green", "blue"], "ready": true}

1. Wash the rice until the water stays clear.
2. Add twice as much water as rice and a little salt.
3. Bring it to the boil, cover it, and leave it on a low flame for twelve minutes.

Der Zug nach Hamburg fährt heute von Gleis sieben ab und hat etwa zehn Minuten Verspätung.
Le marché ouvre à huit heures, mais les meilleurs fruits sont vendus avant neuf heures.
La biblioteca está cerrada los domingos y los días de fiesta.
Утром было тихо и ясно, а к вечеру пошёл дождь.
今天天气很好，我们去公园散步吧。
)text";
}

}  // namespace anemone::cli
