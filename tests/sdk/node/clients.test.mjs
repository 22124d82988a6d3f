// SPDX-License-Identifier: Apache-2.0
// The official OpenAI client for Node and the Vercel AI SDK against `anemone serve` on the pocket model.
// ADDRESS is that of the server with /v1, KEY its key.
import assert from "node:assert/strict";
import test from "node:test";

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { embedMany, generateText, Output, streamText, tool } from "ai";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const address = process.env.ADDRESS;
const key = process.env.KEY;
const question = "What is 17 + 25?";
const answer = "17 + 25 = 42.";
const messages = [{ role: "user", content: question }];
const Sum = z.object({ first: z.number().int(), second: z.number().int(), result: z.number().int() });

const client = new OpenAI({ baseURL: address, apiKey: key, maxRetries: 0, timeout: 60_000 });
const compatible = createOpenAICompatible({ name: "anemone", baseURL: address, apiKey: key, includeUsage: true, supportsStructuredOutputs: true });
const model = compatible("pocket");

test("openai: models", async () => {
  const names = [];
  for await (const model of client.models.list()) names.push(model.id);
  assert.deepEqual(names, ["pocket"]);
});

test("openai: chat", async () => {
  const made = await client.chat.completions.create({ model: "pocket", messages, logprobs: true, top_logprobs: 2 });
  assert.equal(made.choices[0].message.content, answer);
  assert.equal(made.choices[0].finish_reason, "stop");
  assert.equal(made.choices[0].logprobs.content[0].top_logprobs.length, 2);
  assert.equal(made.usage.total_tokens, made.usage.prompt_tokens + made.usage.completion_tokens);
});

test("openai: stream", async () => {
  const stream = await client.chat.completions.create({ model: "pocket", messages, stream: true, stream_options: { include_usage: true } });
  let text = "";
  let usage = null;
  for await (const chunk of stream) {
    text += chunk.choices[0]?.delta?.content ?? "";
    usage = chunk.usage ?? usage;
  }
  assert.equal(text, answer);
  assert.ok(usage.completion_tokens > 0);
});

test("openai: several at a time", async () => {
  const made = await Promise.all([1, 2, 3].map(() => client.chat.completions.create({ model: "pocket", messages })));
  assert.deepEqual(made.map((one) => one.choices[0].message.content), [answer, answer, answer]);
});

test("openai: text completion", async () => {
  const made = await client.completions.create({ model: "pocket", prompt: "The sea", max_tokens: 4, echo: true });
  assert.ok(made.choices[0].text.startsWith("The sea"));
  assert.ok(made.usage.completion_tokens <= 4);
});

test("openai: schema", async () => {
  const made = await client.chat.completions.parse({ model: "pocket", messages, response_format: zodResponseFormat(Sum, "sum") });
  Sum.parse(made.choices[0].message.parsed);
});

test("openai: errors", async () => {
  await assert.rejects(client.chat.completions.create({ model: "pocket", messages, temperature: -1 }), (error) => {
    assert.ok(error instanceof OpenAI.BadRequestError);
    assert.equal(error.param, "temperature");
    return true;
  });
  const stranger = new OpenAI({ baseURL: address, apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.models.list(), OpenAI.AuthenticationError);
});

test("openai: cancel", async () => {
  const control = new AbortController();
  const stream = await client.chat.completions.create({ model: "pocket", messages, stream: true }, { signal: control.signal });
  for await (const _ of stream) control.abort();
  assert.ok(control.signal.aborted);
});

const parameters = { type: "object", properties: { a: { type: "integer" }, b: { type: "integer" } }, required: ["a", "b"] };
const tools = [{ type: "function", function: { name: "add", parameters } }];

test("openai: tools", async () => {
  const made = await client.chat.completions.create({ model: "pocket", messages, tools, tool_choice: "required", parallel_tool_calls: false });
  assert.equal(made.choices[0].finish_reason, "tool_calls");
  const [call] = made.choices[0].message.tool_calls;
  assert.equal(call.function.name, "add");
  assert.deepEqual(Object.keys(JSON.parse(call.function.arguments)).sort(), ["a", "b"]);
});

test("openai: embeddings", async () => {
  const made = await client.embeddings.create({ model: "pocket", input: ["The sea", "A song"] });
  assert.equal(made.data.length, 2);
  const norm = Math.hypot(...made.data[0].embedding);
  assert.ok(Math.abs(norm - 1) < 1e-3, `${norm}`);
});

test("ai: tools", async () => {
  const add = tool({ description: "a sum", inputSchema: z.object({ a: z.number().int(), b: z.number().int() }) });
  const made = await generateText({ model, messages, tools: { add }, toolChoice: "required", maxRetries: 0 });
  assert.equal(made.toolCalls[0].toolName, "add");
  assert.equal(typeof made.toolCalls[0].input.a, "number");
});

test("ai: embeddings", async () => {
  const made = await embedMany({ model: compatible.embeddingModel("pocket"), values: ["The sea", "A song"], maxRetries: 0 });
  assert.equal(made.embeddings.length, 2);
});

test("ai: text", async () => {
  const made = await generateText({ model, prompt: question, maxRetries: 0 });
  assert.equal(made.text, answer);
  assert.equal(made.finishReason, "stop");
  assert.ok(made.usage.outputTokens > 0);
});

test("ai: stream", async () => {
  const made = streamText({ model, messages, maxRetries: 0 });
  let text = "";
  for await (const piece of made.textStream) text += piece;
  assert.equal(text, answer);
  assert.ok((await made.usage).outputTokens > 0);
});

test("ai: object", async () => {
  const made = await generateText({ model, prompt: question, output: Output.object({ schema: Sum }), maxRetries: 0 });
  Sum.parse(made.output);
});
