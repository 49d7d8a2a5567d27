// Made-up spend, workers, schedules, tokens and audit rows for looking at the pages while they are written.

import type { Answer } from "../src/api/client.ts";

const iso = (ms: number): string => new Date(ms).toISOString();
const amount = (microDollars: number) => ({
  tokens: Math.round(microDollars / 7),
  microDollars: process.env.MOCK_PRICES === "none" ? 0 : Math.round(microDollars),
});
const PIPELINES = ["report", "triage", "support-desk", "nightly-import"] as const;

export function mockSpend(query: URLSearchParams): Answer<"getSpend"> {
  const bucketMs = Number(query.get("bucketMs") ?? 86_400_000);
  const since = query.get("since") ?? iso(Date.now() - 30 * bucketMs);
  const count = Math.ceil((Date.now() - Date.parse(since)) / bucketMs);
  const pipelines = query.get("by") === "pipeline" ? PIPELINES : [null];
  const wave = (at: number, pipeline: number): number =>
    at % 7 === 5
      ? 0
      : (1.6 + Math.sin(at / 2.3 + pipeline) + (at % 5) / 4) * 700_000 * (bucketMs / 86_400_000);
  const buckets = Array.from({ length: count }, (_, at) =>
    pipelines.map((pipeline, index) => {
      const cost = wave(at, index) / (pipelines.length === 1 ? 0.3 : 1 + index);
      const requests = Math.round(cost / 9_000);
      return {
        at: iso(Date.parse(since) + at * bucketMs),
        pipeline,
        provider: { charged: amount(cost), requests },
        baseline: { charged: amount(at % 4 === 0 ? cost / 11 : 0), requests: at % 4 === 0 ? 3 : 0 },
        none: { charged: amount(0), requests: at % 6 },
      };
    }),
  ).flat();
  const total = buckets.reduce(
    (sum, { provider, baseline }) => sum + provider.charged.tokens * 7 + baseline.charged.tokens * 7,
    0,
  );
  return {
    since,
    until: iso(Date.now()),
    bucketMs,
    buckets,
    pipelines: PIPELINES.map((pipeline, at) => ({
      pipeline,
      charged: amount(total * ([0.52, 0.27, 0.15, 0.06][at] ?? 0)),
      requests: 4_120 - at * 970,
    })),
    costly: [478, 466, 470, 421, 402].map((number, at) => ({
      runId: `q-${number}`,
      pipeline: PIPELINES[at % 4] ?? "report",
      status: ["running", "failed", "succeeded", "succeeded", "cancelled"][at] ?? "succeeded",
      charged: amount(2_410_000 - at * 310_000),
    })),
    nearLimit: [
      {
        runId: "q-478",
        pipeline: "report",
        charged: amount(2_180_000),
        reserved: amount(180_000),
        budget: "maxMicroDollars",
        share: 0.944,
      },
      {
        runId: "museum-95",
        pipeline: "triage",
        charged: amount(401_000),
        reserved: amount(20_000),
        budget: "maxMicroDollars",
        share: 0.842,
      },
    ],
    lostWork: amount(total * 0.043),
    total: amount(total),
  };
}

export function mockActivity(): Answer<"getActivity"> {
  const held = (runId: string, pipeline: string, owner: string | null, silentMs: number, heldMs: number) => ({
    runId,
    pipeline,
    queue: "default",
    owner,
    heldMs,
    silentMs,
    leaseMs: 30_000,
    isInterrupted: owner === null || silentMs >= 30_000,
  });
  return {
    asOf: iso(Date.now()),
    ready: [
      { queue: "default", pipeline: "report", ready: 12, oldestMs: 41_000 },
      { queue: "default", pipeline: "triage", ready: 3, oldestMs: 9_000 },
      { queue: "mail", pipeline: "support-desk", ready: 4, oldestMs: 5_400_000 },
    ],
    sleeping: [{ queue: "default", sleeping: 7, nextInMs: 260_000 }],
    running: [{ queue: "default", running: 5 }],
    held: [
      held("q-478", "nightly-import", "web-1/4102/k3f9", 4_000, 754_000),
      held("museum-94", "support-desk", "web-1/4102/k3f9", 4_000, 93_000),
      held("q-463", "report", "web-2/4411/p0aa", 9_000, 3_920_000),
      held("q-457", "triage", "anas-laptop/90211/x71b", 12_000, 61_000),
      held("museum-100", "report", "web-3/77/dd01", 154_000, 1_450_000),
      held("museum-85", "nightly-import", null, 5_540_000, 9_450_000),
    ],
    waits: [{ kind: "approval", open: 3, oldestMs: 900_000 }],
  };
}

export function mockWorkers(): Answer<"listWorkers"> {
  const counts = { claimed: 1_204, succeeded: 1_122, failed: 31, waiting: 44, handedBack: 2, takeovers: 3 };
  const worker = (host: string, pid: number, seenMs: number, runIds: readonly string[]) => ({
    workerId: `${host}/${pid}/k3f9`,
    host,
    pid,
    version: "2026-11-16.3",
    pipelines: ["report", "triage", "nightly-import"],
    queues: ["default"],
    concurrency: 8,
    runIds: [...runIds],
    counts,
    claimLatency: { p50Ms: 12, p95Ms: 86 },
    startedAt: iso(Date.now() - 86_400_000 * 2.3),
    seenMs,
    isSilent: seenMs > 15_000,
    blockedAt: host === "web-2" ? iso(Date.now() - 720_000) : null,
  });
  return {
    items: [
      worker("web-1", 4102, 3_100, ["q-478", "museum-94"]),
      worker("web-2", 4411, 1_900, ["q-463"]),
      { ...worker("web-3", 77, 154_000, ["museum-100"]), version: null, claimLatency: null },
    ],
    asOf: iso(Date.now()),
  };
}

const minute = (ms: number): number => ms - (ms % 60_000);

export function mockSchedules(): Answer<"listSchedules"> {
  const now = minute(Date.now());
  const schedule = (name: string, pipeline: string, cron: string) => ({
    name,
    pipeline,
    cron,
    timeZone: "Europe/Berlin",
    overlap: "skip",
    isRemoved: false,
    nextAt: iso(now + 7_260_000),
    pausedAt: null,
    pausedBy: null,
    lastFiring: mockFirings().items[0] ?? null,
    spec: { catchUp: "last", queue: null, priority: null, metadata: null, input: "sales" },
  });
  return {
    items: [
      schedule("nightly", "report", "0 2 * * *"),
      {
        ...schedule("inbox-sweep", "triage", "*/10 * * * *"),
        nextAt: iso(now + 240_000),
        lastFiring: mockFirings().items[1] ?? null,
      },
      {
        ...schedule("weekly-digest", "support-desk", "@weekly"),
        nextAt: null,
        pausedAt: iso(now - 86_400_000),
        pausedBy: "bo",
        lastFiring: null,
      },
      { ...schedule("old-import", "nightly-import", "0 4 * * 1"), nextAt: null, isRemoved: true },
    ],
    asOf: iso(Date.now()),
  };
}

export function mockFirings(): Answer<"listFirings"> {
  const now = minute(Date.now());
  const firing = (at: number, outcome: "started" | "skipped" | "missed", why: string | null, times = 1) => {
    const plannedAt = iso(now - at);
    return {
      plannedAt,
      decidedAt: iso(now - at + 600),
      outcome,
      runId: outcome === "started" ? `nightly@${plannedAt.slice(0, 16)}Z` : null,
      times,
      why,
    };
  };
  return {
    items: [
      firing(3_600_000, "started", null),
      firing(90_000_000, "skipped", "nightly@2026-11-16T01:00Z is unfinished: it waits for a person."),
      firing(176_400_000, "started", null),
      firing(262_800_000, "missed", "No worker ran at the time.", 3),
      firing(349_200_000, "started", null),
    ],
  };
}

export function mockServer(): Answer<"getServer"> {
  return {
    version: "0.1.0",
    instance: "pawl.db",
    startedAt: iso(Date.now() - 273_600_000),
    now: iso(Date.now()),
    store: { database: "sqlite", schemaVersion: 208, sizeBytes: 474_211_328, logBytes: 4_120_032 },
    streams: 3,
    hasWorker: false,
    isReadOnly: false,
  };
}

export function mockTokens(): Answer<"listTokens"> {
  const token = (id: string, name: string, role: "viewer" | "operator" | "admin") => ({
    id,
    kind: "token" as "token" | "code",
    name,
    role,
    scope: { pipelines: null, labels: null } as Answer<"listTokens">["items"][number]["scope"],
    createdAt: iso(Date.now() - 86_400_000 * 40),
    createdBy: "ana",
    expiresAt: null as string | null,
    lastUsedAt: iso(Date.now() - 41_000) as string | null,
    revokedAt: null as string | null,
  });
  return {
    items: [
      token("t-1", "first", "admin"),
      {
        ...token("t-2", "acme portal", "operator"),
        scope: { pipelines: ["report", "support-desk"], labels: { tenant: "acme" } },
        expiresAt: iso(Date.now() + 86_400_000 * 21),
      },
      { ...token("t-3", "wall display", "viewer"), lastUsedAt: null },
      { ...token("t-4", "ci", "operator"), revokedAt: iso(Date.now() - 86_400_000 * 3) },
      { ...token("c-9", "ana", "admin"), kind: "code", expiresAt: iso(Date.now() - 3_600_000) },
    ],
  };
}

const ACTS: readonly (readonly [string, string | null, string])[] = [
  ["approveWait", "q-480~2", "200"],
  ["getRun", "q-480", "200"],
  ["fireSchedule", "nightly", "200"],
  ["cancelRun", "q-402", "403 forbidden"],
  ["settleCall", "q-477/triage#3.1", "409 already_settled"],
  ["createToken", "t-2", "201"],
  ["listRuns", null, "200"],
];

export function mockAudit(query: URLSearchParams): Answer<"listAudit"> {
  const rows = Array.from({ length: 170 }, (_, at) => {
    const [act, target, outcome] = ACTS[at % ACTS.length] ?? ["getRun", null, "200"];
    return {
      no: 170 - at,
      at: iso(Date.now() - at * at * 31_000 - 12_000),
      who: { name: at % 3 === 1 ? "bo" : "ana", id: "t-1", role: at % 3 === 1 ? "viewer" : "admin" },
      act,
      target,
      outcome,
      requestId: `r-${(0x8f31 - at).toString(16)}`,
    };
  }).filter(
    (row) =>
      (!query.has("who") || row.who.name === query.get("who")) &&
      (!query.has("act") || row.act === query.get("act")) &&
      (!query.has("target") || row.target === query.get("target")),
  );
  const from = Number(query.get("cursor") ?? 0);
  const limit = Number(query.get("limit") ?? 100);
  return {
    items: rows.slice(from, from + limit),
    nextCursor: from + limit < rows.length ? String(from + limit) : null,
    asOf: iso(Date.now()),
  };
}
