/**
 * A page with a chat, a server and two workers, each in a process of its own, on one store.
 *
 *   node examples/chat/main.ts           prints its address; kill what you like, with the process ids that it prints
 *   node examples/chat/main.ts --once    talks to itself, kills everything in the middle of an answer, and counts
 *
 * PAWL_STORE names the store: a SQLite file by default, or postgres://…. Without an API key, the model is a script.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { ExampleProcess } from "../example-process.ts";
import { buildPage } from "./build-page.ts";
import { ModelServer } from "./model-server.ts";
import { scriptedClerk } from "./scripted-clerk.ts";
import { talkToItself } from "./self-test.ts";
import { Shop } from "./shop.ts";

const isOnce = process.argv.includes("--once");
const folder = mkdtempSync(join(tmpdir(), "pawl-chat-"));
const { OPENAI_API_KEY, ANTHROPIC_API_KEY, PORT = "3000", PAWL_STORE = "file:./.pawl/chat.db" } = process.env;
const isScripted = isOnce || (OPENAI_API_KEY === undefined && ANTHROPIC_API_KEY === undefined);

await buildPage(folder);
const shop = await Shop.listen();
const model = await ModelServer.listen({ reply: scriptedClerk, pace: () => sleep(isOnce ? 10 : 60) });
const settings = {
  PAGE: folder,
  PAWL_STORE: isOnce ? `file:${join(folder, "chat.db")}` : PAWL_STORE,
  SHOP_URL: shop.url,
  MODEL_URL: isScripted ? model.url : "",
};

let isOver = false;
const running = new Set<ExampleProcess>();

/** Starts it, and starts it again whenever it has ended. Resolves to its first line. */
async function keep(file: string, more: NodeJS.ProcessEnv = {}): Promise<string> {
  const child = await ExampleProcess.start(new URL(file, import.meta.url), { ...settings, ...more });
  running.add(child);
  if (isOver) await child.stop();
  if (!isOnce) console.log(`  ${file} is process ${child.pid}`);
  void child.ended.then(async () => {
    running.delete(child);
    if (!isOver) await keep(file, { ...more, ...portIn(child.firstLine) });
  });
  return child.firstLine;
}

/** The server is found at the same address again. */
function portIn(firstLine: string): NodeJS.ProcessEnv {
  return URL.canParse(firstLine) ? { PORT: new URL(firstLine).port } : {};
}

async function end(): Promise<void> {
  isOver = true;
  await Promise.all([...running].map((each) => each.stop()));
  await Promise.all([model.close(), shop.close()]);
  rmSync(folder, { recursive: true, force: true });
}

const [url] = await Promise.all([
  keep("./server.ts", { PORT: isOnce ? "0" : PORT }),
  keep("./worker.ts"),
  keep("./worker.ts"),
]);

if (isOnce) {
  const killAll = async () => {
    await Promise.all([...running].map((each) => each.kill()));
  };
  try {
    await talkToItself({ url, shop, killAll });
  } finally {
    await end();
  }
} else {
  console.log(`\n${url}\n`);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void end());
}
