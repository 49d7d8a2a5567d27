// The order of rooms: the folders inside a layer, and inside the dashboard. A room imports from itself and from the rooms before it.

/**
 * One place in the order. "." is every file of the folder itself that the order does not name. Rooms in one list have the
 * same rank: none of them imports another.
 */
type Rank = string | readonly string[];

/** The folders that have rooms, each with its rooms from the first to the last. */
export const rooms: Readonly<Record<string, readonly Rank[]>> = {
  "src/core": [
    ".",
    "naming",
    "secret",
    "call",
    "job",
    "usage",
    "turn",
    "run",
    "schedule",
    "access",
    "webhook",
  ],
  "src/store": [
    ["exchange", "access", "report", "webhook"],
    ".",
    "live",
    "sql",
    "postgres-wire",
    "postgres-jobs",
    "postgres-live",
    ["sqlite", "postgres"],
    "checkpoint",
    "bundle",
    "loaded-code.ts",
    ["moving-runs.ts", "open-store.ts"],
  ],
  "src/store/sql": [
    ".",
    "tables",
    "access",
    "queries",
    "verify",
    ["intents", "webhooks"],
    "sql-overview.ts",
    "sql-reader.ts",
    "sql-queue.ts",
    "sql-access.ts",
    "sql-webhooks.ts",
    ["planned", "sql-store.ts"],
  ],
  "src/store/sqlite": [".", "sqlite-store.ts", "migrations"],
  "src/store/postgres": [".", "postgres-store.ts", "migrations"],
  "src/export": [".", "transcript", "run-telemetry.ts", "export-run.ts", "archive"],
  "src/account": [".", "health", "documents", "run-report.ts", "story", "transcript", "compare"],
  "src/engine": ["ports", "definition", "run", "call", "turn", "steps", "watch", "runner", "worker"],
  "src/engine/definition": ["artifact-access.ts", "value-schema.ts", "tool.ts", "waiting", ".", "pipeline"],
  "src/engine/steps": [".", "blueprint", "built-in-executors.ts"],
  "src/engine/runner": [".", "forecast", "run-requests.ts", "runner.ts", "durable-main-loop.ts"],
  "src/adapters": [
    "net",
    ["ai-sdk", "chat", "mcp", "otel", "restate", "tools", "event-log.ts", "genai-prices.ts"],
    "off-thread-jobs.ts",
    "off-thread-worker.ts",
  ],
  "src/adapters/ai-sdk": [".", ["chat", "mirror"], "index.ts"],
  "src/server": [
    "api",
    ".",
    "access",
    "scope",
    "documents",
    "live",
    "webhooks",
    "handlers",
    "http",
    "index.ts",
  ],
  "src/server/handlers": [".", ["acts", "runs", "waits"], "make-handlers.ts"],
  "src/testing": [".", "crash", "store", "index.ts"],
  "src/testing/crash": [
    "databases",
    "viewers",
    ".",
    "invariants",
    ["report", "explorer-options.ts"],
    "crash-explorer.ts",
    "index.ts",
  ],
  "src/testing/store": [".", "runs", "turns", "calls", "waits", "server", "store-conformance.ts", "index.ts"],
  "src/cli": [
    "own-files.ts",
    "context",
    "screen",
    "config",
    "job",
    "run",
    "chat",
    "crashtest",
    "init",
    "commands",
    "commands.ts",
    "program.ts",
    "main.ts",
  ],
  "dashboard/src": ["api", "words", "live", "browser", "parts", "pages", "app", "."],
  "dashboard/src/parts": ["controls", "text", "charts", "layout"],
  "dashboard/src/pages": [
    ["access", "compare", "health", "inbox", "run", "runs", "schedules", "spend", "workers"],
  ],
  "dashboard/src/pages/run": [
    ".",
    "ledger",
    "timeline",
    "next",
    ["log", "money", "transcript"],
    "verification.tsx",
    "run-head.tsx",
    "run-page.tsx",
  ],
};

/** The rank and the room of a path in the order of a folder; undefined if it has none. */
export function placeIn(
  folder: string,
  path: string,
): { readonly rank: number; readonly room: string } | undefined {
  const order = rooms[folder];
  if (order === undefined || !path.startsWith(`${folder}/`)) return undefined;
  const [first = "", ...rest] = path.slice(folder.length + 1).split("/");
  const named = order.findIndex((rank) => roomsOf(rank).includes(first));
  if (named !== -1) return { rank: named, room: first };
  const own = rest.length === 0 ? order.indexOf(".") : -1;
  return own === -1 ? undefined : { rank: own, room: "." };
}

/** The reason why a file may not import another, by the order of every folder that holds both; undefined if it may. */
export function whyNotBetweenRooms(from: string, to: string): string | undefined {
  for (const folder of Object.keys(rooms)) {
    const own = placeIn(folder, from);
    const other = placeIn(folder, to);
    if (own === undefined || other === undefined || own.room === other.room) continue;
    if (other.rank >= own.rank) return `in ${folder} the order is ${orderText(folder)}`;
  }
  return undefined;
}

export function orderText(folder: string): string {
  const texts = (rooms[folder] ?? []).map((rank) =>
    typeof rank === "string" ? nameOf(rank) : `(${rank.map(nameOf).join(" | ")})`,
  );
  return texts.join(" → ");
}

function nameOf(room: string): string {
  return room === "." ? "its own files" : room;
}

function roomsOf(rank: Rank): readonly string[] {
  return typeof rank === "string" ? [rank] : rank;
}
