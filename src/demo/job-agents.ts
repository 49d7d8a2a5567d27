import { type Agent, defineAgent } from "../engine/definition/agent.ts";
import { valueSchema } from "../engine/definition/value-schema.ts";
import type { ModelPort } from "../engine/ports/model-port.ts";
import { checkReport, fetchPage } from "./job-tools.ts";
import {
  type Report,
  type ResearchNotes,
  type ResearchPlan,
  report,
  researchNotes,
  researchPlan,
  sourcesSlice,
} from "./research.ts";

/** The models of the three agents: one for all, or a script for each. */
export type JobModels = {
  readonly planner: ModelPort;
  readonly crawler: ModelPort;
  readonly writer: ModelPort;
};

export type JobAgents = {
  readonly planner: Agent<ResearchPlan>;
  readonly crawler: Agent<ResearchNotes>;
  readonly writer: Agent<Report>;
};

/** Room for a whole report, and for the model's reasoning before it. */
const SETTINGS = { maxOutputTokens: 16_000 };

export function jobAgents({ planner, crawler, writer }: JobModels): JobAgents {
  return {
    planner: defineAgent({
      name: "planner",
      model: planner,
      instructions: `You plan a piece of research. You are given its subject and the address of a web site.
Read the first page of the site with fetch_page, once. Then answer with the subject, three to six questions that a reader of the report would want answered, and the pages of the site to begin with.`,
      tools: { fetch_page: fetchPage },
      slices: [sourcesSlice],
      output: valueSchema(researchPlan),
      settings: SETTINGS,
    }),
    crawler: defineAgent({
      name: "crawler",
      model: crawler,
      instructions: `You read a web site to answer the questions of a plan. You are given the plan.
Read the pages of the plan with fetch_page, three at a time, and then every page of the same site that they link to, each page once and not the first page of the site. When there is no page left, answer with the subject and the questions as they were given, and for each page that helps with one of them its address, its title and the sentences that matter, word for word.`,
      tools: { fetch_page: fetchPage },
      slices: [sourcesSlice],
      output: valueSchema(researchNotes),
      settings: SETTINGS,
    }),
    writer: defineAgent({
      name: "writer",
      model: writer,
      instructions: `You write a report from notes. You are given the subject, the questions and the notes.
Write a title, a summary of two or three sentences in your own words, and a section for each question that the notes answer. Every paragraph names the pages that it is drawn from. Check the report with check_citations, fix what it finds, and check it again until it finds nothing. Then answer with the report.`,
      tools: { check_citations: checkReport },
      slices: [sourcesSlice],
      output: valueSchema(report),
      settings: SETTINGS,
    }),
  };
}
