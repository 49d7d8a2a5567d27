/**
 * `node bench/live-provider.ts <turns> <pieces> <every ms>`: a provider in a process of its own. It asks for a tool until
 * the last turn, and takes as long for a whole answer as for one in pieces. Prints its address.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const [turns = 1, pieces = 1, everyMs = 0] = process.argv.slice(2).map(Number);

const WORDS = "some more words of it ";
const usage = { prompt_tokens: 100, completion_tokens: 50, total_tokens: 150 };

const server = createServer((request, response) => void answer(request, response));
server.listen(0, "127.0.0.1", () => {
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
});

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await request.toArray()) as Buffer[];
  const { stream = false, messages } = JSON.parse(Buffer.concat(body).toString()) as {
    readonly stream?: boolean;
    readonly messages: readonly { readonly role: string }[];
  };
  const turn = messages.filter(({ role }) => role === "tool").length + 1;
  const call = {
    index: 0,
    id: `c-${turn}`,
    type: "function",
    function: { name: "look", arguments: JSON.stringify({ turn }) },
  };
  const calls = turn < turns ? { tool_calls: [call] } : {};
  const finish_reason = turn < turns ? "tool_calls" : "stop";
  const base = { id: `r-${turn}`, created: 1, model: "bench" };
  if (stream) await sendPieces();
  else await sendWhole();

  async function sendPieces(): Promise<void> {
    response.writeHead(200, { "content-type": "text/event-stream" });
    const send = (choice: object, more: object = {}) =>
      response.write(
        `data: ${JSON.stringify({ ...base, object: "chat.completion.chunk", choices: [{ index: 0, ...choice }], ...more })}\n\n`,
      );
    for (let i = 0; i < pieces; i++) {
      send({ delta: { role: "assistant", content: WORDS } });
      if (everyMs > 0) await sleep(everyMs);
    }
    send({ delta: calls, finish_reason }, { usage });
    response.end("data: [DONE]\n\n");
  }

  async function sendWhole(): Promise<void> {
    await sleep(pieces * everyMs);
    const message = { role: "assistant", content: WORDS.repeat(pieces), ...calls };
    const choices = [{ index: 0, message, finish_reason }];
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ ...base, object: "chat.completion", choices, usage }));
  }
}
