import { checkCitations } from "../core/citations.ts";
import { ConfigurationError } from "../core/errors.ts";
import type { CodeStepContext } from "../engine/definition/code-step-context.ts";
import { Pipeline, type PipelineStep, Step } from "../engine/definition/step.ts";
import { artifactKept, type StopConditions, succeededOnce } from "../engine/definition/stop-conditions.ts";
import type { ArtifactRecord } from "../store/store.ts";
import { type JobModels, jobAgents } from "./job-agents.ts";
import { emailTool, notificationTool, uploadTool } from "./job-tools.ts";
import type { OutsideAddresses } from "./outside.ts";
import { reportHtml } from "./report-html.ts";
import { reportPdf } from "./report-pdf.ts";
import { type Report, reportText, sourcesSlice } from "./research.ts";

/** The phases of the job, in order; each is one step of the same name. */
export const PHASES = ["plan", "crawl", "synthesise", "render", "upload", "send", "notify"] as const;
export type Phase = (typeof PHASES)[number];

type File = Pick<ArtifactRecord, "name" | "hash">;
type Rendered = { readonly title: string; readonly html: File; readonly pdf: File };
type Uploaded = Rendered & { readonly locations: readonly string[] };

/** From a subject to a report that is uploaded, mailed to `recipient` and announced. */
export function jobPipeline(models: JobModels, outside: OutsideAddresses, recipient: string): PipelineStep {
  const { planner, crawler, writer } = jobAgents(models);
  const [upload, sendEmail, notify] = [uploadTool(outside), emailTool(outside), notificationTool(outside)];
  return Pipeline.of(
    "clockwork-report",
    Step.granular("plan", planner, { phase: "plan", maxTurns: 6 }),
    Step.granular("crawl", crawler, { phase: "crawl", maxTurns: 20 }),
    Step.granular("synthesise", writer, { phase: "synthesise", maxTurns: 10 }),
    Step.run("render", render, { phase: "render" }),
    Step.run(
      "upload",
      async (rendered: Rendered, ctx): Promise<Uploaded> => {
        const files = [rendered.html, rendered.pdf];
        const stored = await Promise.all(files.map((file) => ctx.call(upload, file)));
        return { ...rendered, locations: stored.map(({ location }) => location) };
      },
      { phase: "upload" },
    ),
    Step.run(
      "send",
      async ({ title, pdf, locations }: Uploaded, ctx) => {
        const text = `The report is attached, and here:\n\n${locations.join("\n")}\n`;
        const mail = { to: recipient, subject: title, text, attachment: pdf };
        return { title, ...(await ctx.call(sendEmail, mail)) };
      },
      { phase: "send" },
    ),
    Step.run(
      "notify",
      async ({ title }: { readonly title: string }, ctx) => {
        await ctx.call(notify, { text: `"${title}" was sent to ${recipient}.` });
        return `"${title}" was written, uploaded, mailed and announced.`;
      },
      { phase: "notify" },
    ),
  );
}

/** Pure except for the artifacts, which have fixed names: rendering again produces the same. */
async function render(written: Report, ctx: CodeStepContext): Promise<Rendered> {
  const sources = ctx.session.query(sourcesSlice).all();
  const { uncited, unfetched } = checkCitations(reportText(written), sources);
  if (uncited.length + unfetched.length > 0)
    throw new ConfigurationError(
      `The report must cite its sources: it draws on ${uncited.join(", ") || "nothing"} without citing it, and cites ${unfetched.join(", ") || "nothing"} that was never read. Resume from the beginning of the step that wrote it.`,
    );
  const titleOf = (url: string) => sources.find((source) => source.url === url)?.title ?? url;
  const html = await ctx.artifact("report.html", reportHtml(written, titleOf));
  const pdf = await ctx.artifact("report.pdf", await reportPdf(written, titleOf));
  return { title: written.title, html: fileOf(html), pdf: fileOf(pdf) };
}

function fileOf({ name, hash }: ArtifactRecord): File {
  return { name, hash };
}

/** The job's stop conditions: all must hold when its last step is done. */
export const jobStopConditions: StopConditions = {
  report_pdf_created: artifactKept("report.pdf"),
  email_sent_once: succeededOnce("send_email"),
  final_notification_sent: succeededOnce("send_notification"),
};
