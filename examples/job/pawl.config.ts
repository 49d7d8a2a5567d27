/**
 * A job for the command line. In this folder of a clone:
 *
 *     node ../../src/cli/main.ts run job.yaml
 *
 * Press Ctrl-C, kill it, or pull the plug: the same command resumes it. The model is a slow script, so no key is needed;
 * replace it with `openai("gpt-5.2")`.
 */
import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { agent, artifactKept, defineConfig, Pipeline, Step, succeededOnce, tool } from "../../src/index.ts";
import { scriptedModel } from "../../src/testing/index.ts";

const here = import.meta.dirname;

const readNote = tool({
  description: "Read one of the week's notes.",
  inputSchema: z.object({ name: z.string() }),
  effect: "read_only", // May be repeated after a crash: it changes nothing.
  execute: async ({ name }) => {
    await sleep(300);
    return (await readFile(join(here, "notes", name), "utf8")).trim();
  },
});

const postLetter = tool({
  name: "post_letter",
  description: "Post a letter to all members.",
  inputSchema: z.object({ text: z.string() }),
  effect: "external",
  recovery: "keyed", // The post office ignores a second letter with the same key.
  execute: ({ text }, call) => {
    const outbox = join(here, "outbox.log");
    const posted = existsSync(outbox) ? readFileSync(outbox, "utf8") : "";
    if (!posted.includes(call.idempotencyKey))
      appendFileSync(outbox, `${JSON.stringify({ key: call.idempotencyKey, text })}\n`);
    return { posted: true };
  },
});

const model = scriptedModel(async ({ turn, options }) => {
  await sleep(400);
  const asked = JSON.stringify(options.prompt[1] ?? "");
  const notes = [...asked.matchAll(/\w+\.txt/g)].map(([name]) => name);
  if (turn === 1) return { toolCalls: notes.map((name) => ({ name: "read_note", input: { name } })) };
  const results = options.prompt.flatMap((message) => (message.role === "tool" ? message.content : []));
  const texts = results.flatMap((part) =>
    part.type === "tool-result" && part.output.type === "text" ? [part.output.value] : [],
  );
  return { text: ["Dear members,", ...texts, "The clock museum"].join("\n\n") };
});

const writer = agent({
  name: "writer",
  model,
  instructions: "Read the notes, and write a letter about what they say.",
  tools: { read_note: readNote },
});

const letter = Pipeline.of(
  "letter",
  Step.granular("write", writer, { phase: "write" }),
  Step.run(
    "print",
    async (text: string, step) => {
      await step.artifact("letter.md", text);
      return text;
    },
    { phase: "print" },
  ),
  Step.run("post", (text: string, step) => step.call(postLetter, { text }), { phase: "post" }),
);

export default defineConfig({
  pipelines: { letter },
  stopConditions: {
    letter_written: artifactKept("letter.md"),
    letter_posted_once: succeededOnce("post_letter"),
  },
});
