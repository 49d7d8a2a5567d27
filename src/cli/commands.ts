import { answer } from "./commands/answer.ts";
import { approve } from "./commands/approve.ts";
import { cancel } from "./commands/cancel.ts";
import { crashtest } from "./commands/crashtest.ts";
import { demo } from "./commands/demo.ts";
import { deny } from "./commands/deny.ts";
import { doctor } from "./commands/doctor.ts";
import { exportCommand } from "./commands/export.ts";
import { fork } from "./commands/fork.ts";
import { gc } from "./commands/gc.ts";
import { ls } from "./commands/ls.ts";
import { policyAudit } from "./commands/policy-audit.ts";
import { policyExplain } from "./commands/policy-explain.ts";
import { receipts } from "./commands/receipts.ts";
import { resume } from "./commands/resume.ts";
import { run } from "./commands/run.ts";
import { settle } from "./commands/settle.ts";
import { show } from "./commands/show.ts";
import { tail } from "./commands/tail.ts";
import { verify } from "./commands/verify.ts";
import { waits } from "./commands/waits.ts";
import type { Command } from "./context/command.ts";

/** Every command, in help order. */
export const commands: readonly Command[] = [
  run,
  resume,
  ls,
  show,
  tail,
  receipts,
  waits,
  approve,
  deny,
  answer,
  settle,
  cancel,
  fork,
  exportCommand,
  verify,
  gc,
  doctor,
  policyExplain,
  policyAudit,
  crashtest,
  demo,
];

/** Groups of two-word commands, by their first word. */
export const groups: { readonly [name: string]: { readonly summary: string; readonly example: string } } = {
  policy: { summary: "Explain how tools are classified", example: "pawl policy explain send_email" },
};
