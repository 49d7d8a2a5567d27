// Mistakes with servers and built-in tools, and what models and tools do wrong.

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { z } from "zod";
import { mcpTools } from "../../src/adapters/mcp/mcp.ts";
import { otel } from "../../src/adapters/otel/otel.ts";
import { builtInTools, sendMail } from "../../src/adapters/tools/index.ts";
import { listenOnLoopback } from "../../src/demo/loopback-server.ts";
import { agent, Runner, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";
import { type Mistake, said } from "./mistake.ts";
import { noTypes, withMemory, worker } from "./mistaken-worker.ts";

/** Runs an agent whose tool does something odd, and returns what the model is shown of it. */
const toolResult = (execute: () => unknown) =>
  withMemory(async (own) => {
    const odd = tool({ description: "Does.", inputSchema: z.object({}), effect: "read_only", execute });
    const turns = [{ toolCalls: [{ name: "odd", input: {} }] }, { text: "Done." }];
    await new Runner(worker(turns, { odd }), { ...own, maxRetriesPerToolCall: 0 }).run("Go", {
      runId: "r-1",
    });
    const [call] = await own.store.listToolCalls("r-1");
    throw said(call?.receipt?.output.value);
  });

/** Asks a model on a loopback server that answers like this. */
async function asked(status: number, type: string, body: string, options: object = {}): Promise<unknown> {
  const server = await listenOnLoopback(() => ({ status, type, body }));
  try {
    const provider = createOpenAICompatible({ name: "local", baseURL: `${server.url}/v1` });
    return await withMemory((own) =>
      new Runner(agent({ name: "a", model: provider("m") }), { ...own, maxModelAttempts: 1, ...options }).run(
        "Go",
      ),
    );
  } finally {
    await server.close();
  }
}

async function askedInVain(): Promise<unknown> {
  const server = await listenOnLoopback(() => new Promise<never>(() => undefined));
  try {
    const provider = createOpenAICompatible({ name: "local", baseURL: `${server.url}/v1` });
    const hanging = agent({ name: "a", model: provider("m") });
    return await withMemory((own) =>
      new Runner(hanging, { ...own, maxModelAttempts: 1, modelTimeoutMs: 100 }).run("Go"),
    );
  } finally {
    await server.close();
  }
}

export const outsideMistakes: readonly Mistake[] = [
  {
    what: "an unknown option of mcpTools",
    make: () => mcpTools(noTypes({ command: "npx", argv: [] })),
    says: 'mcpTools has no "argv": did you mean args?',
    grade: "A+",
  },
  {
    what: "an MCP server without command or url",
    make: () => mcpTools(noTypes({ name: "files" })),
    says: "mcpTools needs the server's command, or its url, and not both: mcpTools({ command: … }).",
    grade: "A",
  },
  {
    what: "an MCP program that is not installed",
    make: () =>
      withMemory((own) =>
        new Runner(
          agent({
            name: "a",
            model: scriptedModel([]),
            tools: { files: mcpTools({ command: "no-such-program" }) },
          }),
          own,
        ).run("Go"),
      ),
    says: "The MCP server files (no-such-program) cannot be started (spawn no-such-program ENOENT): check the command and its cwd.",
    grade: "A",
  },
  {
    what: "an unknown option of otel",
    make: () => otel(noTypes({ contents: true })),
    says: 'The argument of otel has no "contents": did you mean content?',
    grade: "A+",
  },
  {
    what: "an unknown built-in tool",
    make: () => builtInTools(noTypes({ sendmail: {} })),
    says: 'The argument of builtInTools has no "sendmail": did you mean send_mail?',
    grade: "A+",
  },
  {
    what: "an unknown setting of a built-in tool",
    make: () => sendMail(noTypes({ url: "smtp://localhost", sender: "a@b.c" })),
    says: 'send_mail has no "sender": use one of url, host, port, secure, user, password, private, from.',
    grade: "A",
  },
  {
    what: "a missing setting of a built-in tool",
    make: () => sendMail(noTypes({ url: "smtp://localhost" })),
    says: "The settings of send_mail cannot be used: send_mail.from is missing.",
    grade: "A",
  },
  {
    what: "a tool that returns a BigInt",
    make: () => toolResult(() => 1n),
    says: "odd ran, but its result cannot be kept (Do not know how to serialize a BigInt). Its effect has happened: do not call it again for that.",
    grade: "A",
  },
  {
    what: "a tool that returns a cycle",
    make: () =>
      toolResult(() => {
        const cycle: { self?: unknown } = {};
        cycle.self = cycle;
        return cycle;
      }),
    says: "odd ran, but its result cannot be kept (Converting circular structure to JSON). Its effect has happened: do not call it again for that.",
    grade: "B",
  },
  {
    what: "a model key that is wrong",
    make: () =>
      asked(401, "application/json", '{"error":{"message":"Incorrect API key provided: sk-12345678."}}'),
    says: "local.chat/m rejected the request (401): Incorrect API key provided: [redacted]. Check the API key and its permissions, then resume.",
    grade: "A",
  },
  {
    what: "a model id that does not exist",
    make: () => asked(404, "application/json", '{"error":{"message":"The model `m` does not exist."}}'),
    says: "local.chat/m rejected the request (404): The model `m` does not exist. Check the model id and the provider's address, then resume; with another model id, resume with acceptDivergence.",
    grade: "A",
  },
  {
    what: "an address that answers with a web page",
    make: () => asked(200, "text/html", "<!doctype html>\n<html><title>Sign in</title></html>"),
    says: 'local.chat/m was called and gave no usable answer: Invalid JSON response, which begins with "<!doctype html> <html><title>Sign in</title></html>". It may have been charged; try again.',
    grade: "A",
  },
  {
    what: "a model that hangs",
    make: askedInVain,
    says: "local.chat/m was called and did not answer within the time limit. It may have been charged; raise modelTimeoutMs of the Runner, or resume to call it again.",
    grade: "A",
  },
  {
    what: "a provider that fails",
    make: () => asked(500, "application/json", '{"error":{"message":"oops"}}'),
    says: "local.chat/m failed (500): oops. The problem is on the provider's side: resume later.",
    grade: "B",
  },
];
