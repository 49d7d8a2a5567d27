// The job of the demo, with stand-ins for its servers: a site of three pages, file uploads, mail and notifications.

import { jobPipeline, jobStopConditions } from "../../../../src/demo/job-pipeline.ts";
import { readPage } from "../../../../src/demo/read-page.ts";
import { pageRead } from "../../../../src/demo/research.ts";
import { scriptedResearcher } from "../../../../src/demo/scripted-researcher.ts";
import { Pipeline } from "../../../../src/engine/definition/step.ts";
import type { Scenario } from "../../../../src/testing/crash/scenario.ts";
import { found } from "./errand-tools.ts";

const SITE = "https://clocks.example";

const PAGES: { readonly [path: string]: string } = {
  "/": page("The Clockwork Reader", "A library about clocks.", "/ratchet", "/verge"),
  "/ratchet": page("Ratchet and pawl", "The pawl lets the ratchet turn one way only. A pause costs nothing."),
  "/verge": page("The verge escapement", "The verge is the earliest escapement. Its foliot has no beat."),
};

function page(title: string, text: string, ...links: readonly string[]): string {
  const anchors = links.map((path) => `<a href="${path}">${path.slice(1)}</a>`).join("");
  return `<title>${title}</title><p>${text}</p>${anchors}`;
}

export function jobsDemo(): Scenario {
  const outside = { uploads: `${SITE}/files`, smtpPort: 25, sentMail: `${SITE}/sent`, notifications: SITE };
  return {
    name: "jobs-demo",
    pipeline: Pipeline.stoppingWhen(
      jobPipeline(scriptedResearcher(), outside, "ann@example.com"),
      jobStopConditions,
    ),
    input: { subject: "Clockwork", site: `${SITE}/`, recipient: "ann@example.com" },
    tools: {
      fetch_page: ({ url }: { readonly url: string }, call) => {
        const { href, pathname } = new URL(url);
        const read = readPage(PAGES[pathname] ?? "", href);
        call.session.dispatch(pageRead(read));
        return read;
      },
      upload_file: ({ name }: { readonly name: string }, { idempotencyKey }) => ({
        location: `${SITE}/files/${name}?${idempotencyKey.length}`,
      }),
      send_email: {
        execute: (_, { idempotencyKey }) => ({ messageId: `${idempotencyKey}@pawl.example` }),
        reconcile: (_, call, other) => found(call, other),
      },
      send_notification: (_, { idempotencyKey }) => ({ id: `n-${idempotencyKey.length}` }),
    },
    run: {
      spec: {
        objective: "Write a report about clockwork, and mail it.",
        constraints: { noDuplicateExternalActions: true, mustCiteSources: true },
        budgets: { maxSteps: 50, maxToolCalls: 100, maxWallclockMinutes: 600 },
        stopConditions: Object.keys(jobStopConditions),
        artifacts: { expectedOutputs: ["report.html", "report.pdf"] },
      },
    },
  };
}
