// A worker that has three words to say, each a milestone, and says the first that its prompt does not show yet.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import {
  type CheckpointStore,
  DatabaseCheckpointStore,
  DurableMainLoop,
  type DurableMainLoopOptions,
  dynamic,
  FileCheckpointStore,
  promptTemplate,
  type Store,
  type Tool,
} from "../../../src/index.ts";
import type { ScriptedTurn } from "../../../src/testing/index.ts";
import { scriptedAgent } from "../run-fixture.ts";
import { loudly, saying, words } from "../session-fixture.ts";

export const TO_SAY = ["one!", "two!", "three!"] as const;

const prompt = (title: string) =>
  promptTemplate({
    namespace: "t",
    key: "words",
    version: 1,
    sections: [
      dynamic({
        key: "progress",
        title,
        slices: [words],
        render: (session) => `Said: ${session.query(words).all().join(", ")}.`,
      }),
    ],
  });

/** The words that the prompt shows as said. */
export function saidIn(prompt: ScriptedTurn["options"]["prompt"]): string[] {
  const system = prompt[0]?.role === "system" ? prompt[0].content : "";
  return (/^Said: (.*)\.$/m.exec(system)?.[1] ?? "").split(", ").filter((word) => word !== "");
}

export type SpeakerOptions = {
  readonly title?: string;
  readonly modelId?: string;
  /** Called before each answer, with the words said so far. */
  readonly before?: (said: readonly string[], turn: ScriptedTurn) => void | Promise<void>;
};

export function speaker(say: Tool, { title = "Progress", modelId = "m-1", before }: SpeakerOptions = {}) {
  return scriptedAgent(
    async (turn) => {
      const done = saidIn(turn.options.prompt);
      await before?.(done, turn);
      const next = TO_SAY.find((word) => !done.includes(word));
      return next === undefined ? { text: "All is said." } : saying(next);
    },
    { name: "speaker", instructions: prompt(title), modelId, tools: { say } },
  );
}

/** The main loop of such a worker, with its model's prompts and its warnings. */
export function speakingLoop(
  store: Store,
  checkpoints: CheckpointStore,
  say: Tool,
  options: Partial<DurableMainLoopOptions> & SpeakerOptions = {},
) {
  const { title, modelId, before, ...rest } = options;
  const { agent, prompts } = speaker(say, {
    ...(title === undefined ? {} : { title }),
    ...(modelId === undefined ? {} : { modelId }),
    ...(before === undefined ? {} : { before }),
  });
  const warnings: string[] = [];
  const loop = new DurableMainLoop(agent, {
    store,
    checkpoints,
    checkpointTrigger: loudly,
    random: () => 0,
    maxModelAttempts: 1,
    warn: (message) => warnings.push(message),
    ...rest,
  });
  return { loop, prompts, warnings };
}

/** The path of a worker's directory that does not exist yet. */
export function workerDirectory(): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-loop-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "worker-1");
}

/** Both stores for a worker's checkpoints; each call opens them as a new process does. */
export const BOTH_STORES: readonly (readonly [string, (store: Store) => () => CheckpointStore])[] = [
  [
    "in a directory",
    () => {
      const directory = workerDirectory();
      return () => new FileCheckpointStore(directory, { warn: () => undefined });
    },
  ],
  ["in the store", (store) => () => new DatabaseCheckpointStore(store, "worker-1")],
];
