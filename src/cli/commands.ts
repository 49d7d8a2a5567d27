import type { Command } from "./context/command.ts";

/** Every command by name, in help order. Each is loaded when it is used: a start takes half the time. */
const LOADERS: { readonly [name: string]: () => Promise<Command> } = {
  init: async () => (await import("./commands/init.ts")).init,
  run: async () => (await import("./commands/run.ts")).run,
  chat: async () => (await import("./commands/chat.ts")).chat,
  resume: async () => (await import("./commands/resume.ts")).resume,
  enqueue: async () => (await import("./commands/enqueue.ts")).enqueue,
  worker: async () => (await import("./commands/worker.ts")).worker,
  serve: async () => (await import("./commands/access/serve.ts")).serve,
  top: async () => (await import("./commands/top.ts")).top,
  send: async () => (await import("./commands/send.ts")).send,
  ls: async () => (await import("./commands/ls.ts")).ls,
  show: async () => (await import("./commands/show.ts")).show,
  tail: async () => (await import("./commands/tail.ts")).tail,
  receipts: async () => (await import("./commands/receipts.ts")).receipts,
  waits: async () => (await import("./commands/waits.ts")).waits,
  approve: async () => (await import("./commands/approve.ts")).approve,
  deny: async () => (await import("./commands/deny.ts")).deny,
  answer: async () => (await import("./commands/answer.ts")).answer,
  settle: async () => (await import("./commands/settle.ts")).settle,
  cancel: async () => (await import("./commands/cancel.ts")).cancel,
  schedules: async () => (await import("./commands/schedules.ts")).schedules,
  fork: async () => (await import("./commands/fork.ts")).fork,
  export: async () => (await import("./commands/export.ts")).exportCommand,
  import: async () => (await import("./commands/import.ts")).importCommand,
  verify: async () => (await import("./commands/verify.ts")).verify,
  gc: async () => (await import("./commands/gc.ts")).gc,
  migrate: async () => (await import("./commands/migrate.ts")).migrate,
  doctor: async () => (await import("./commands/doctor.ts")).doctor,
  "token create": async () => (await import("./commands/access/token.ts")).tokenCreate,
  "token login": async () => (await import("./commands/access/token.ts")).tokenLogin,
  "token ls": async () => (await import("./commands/access/token.ts")).tokenList,
  "token revoke": async () => (await import("./commands/access/token.ts")).tokenRevoke,
  "webhook add": async () => (await import("./commands/access/webhook.ts")).webhookAdd,
  "webhook ls": async () => (await import("./commands/access/webhook.ts")).webhookList,
  "webhook rm": async () => (await import("./commands/access/webhook.ts")).webhookRemove,
  "webhook rotate": async () => (await import("./commands/access/webhook.ts")).webhookRotate,
  "webhook test": async () => (await import("./commands/access/webhook.ts")).webhookTest,
  "webhook send-again": async () => (await import("./commands/access/webhook.ts")).webhookSendAgain,
  audit: async () => (await import("./commands/access/audit.ts")).audit,
  "policy explain": async () => (await import("./commands/policy-explain.ts")).policyExplain,
  "policy audit": async () => (await import("./commands/policy-audit.ts")).policyAudit,
  crashtest: async () => (await import("./commands/crashtest.ts")).crashtest,
  demo: async () => (await import("./commands/demo.ts")).demo,
};

export const commandNames: readonly string[] = Object.keys(LOADERS);

/** Loads the named command, or all of them. */
export function loadCommands(name: string | null = null): Promise<readonly Command[]> {
  const loaders = Object.entries(LOADERS).filter(([each]) => name === null || each === name);
  return Promise.all(loaders.map(([, load]) => load()));
}

/** Groups of two-word commands, by their first word. */
export const groups: { readonly [name: string]: { readonly summary: string; readonly example: string } } = {
  token: { summary: "Give people access to a server of this store", example: "pawl token create --name ana" },
  webhook: {
    summary: "Send events of runs to other systems",
    example: "pawl webhook add https://example.com/pawl --event wait.opened",
  },
  policy: { summary: "Explain how tools are classified", example: "pawl policy explain send_email" },
};
