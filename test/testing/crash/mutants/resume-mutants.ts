// Resumes that a person has requested.

import type { Mutant } from "./mutant.ts";

const [LEFT, BREAKS] = ["core/run/resume-decision.ts", "resumed-as-requested"];

export const RESUME_MUTANTS: readonly Mutant[] = [
  {
    what: "a worker ignores how the run is to be resumed",
    patches: [
      {
        file: "engine/runner/run-requests.ts",
        right: "if (resumeRequest === null) return own;",
        wrong: "if (resumeRequest?.takenSeq !== 0) return own;",
      },
    ],
    breaks: BREAKS,
    scenario: "resume-from-milestone",
  },
  {
    what: "a requested rollback is lost with the worker that was to do it",
    patches: [
      {
        file: LEFT,
        right: "  return {\n    ...resume,\n    redoTurn:",
        wrong: "  if (since.length === 0) return null;\n  return {\n    ...resume,\n    redoTurn:",
      },
    ],
    breaks: BREAKS,
    scenario: "resume-from-milestone",
  },
  {
    what: "a response that was to be dropped is used after the death of a worker",
    patches: [
      {
        file: LEFT,
        right: 'resume.redoTurn && !has(["turn.dropped"])',
        wrong: "false",
      },
    ],
    breaks: BREAKS,
    scenario: "resume-with-redo",
  },
  {
    what: "a requested rollback is repeated by the next worker",
    patches: [
      {
        file: LEFT,
        right:
          '  if (has(BEGUN)) return { ...resume, from: "turn", redoTurn: false, acceptDivergence: null };\n',
        wrong: "",
      },
    ],
    breaks: BREAKS,
    scenario: "resume-from-milestone",
  },
  {
    what: "the next worker does not accept a change, since the response was dropped",
    patches: [
      {
        file: LEFT,
        right: 'has(["divergence.accepted"]) ? null',
        wrong: 'has(["turn.dropped", "divergence.accepted"]) ? null',
      },
    ],
    breaks: "same-end",
    scenario: "resume-with-redo",
  },
  {
    what: "a worker that gives the run back forgets how it is to be resumed",
    patches: [
      {
        file: "store/sql/intents/run-intents.ts",
        right: 'if (status === "queued" || status === "waiting") yield* keepRequestLeft(row, status);',
        wrong: 'if (status === "waiting") yield* keepRequestLeft(row, status);',
      },
    ],
    breaks: BREAKS,
    scenario: "resume-from-milestone",
  },
  {
    what: "a change is accepted after a wait, for a person who has not seen it",
    patches: [
      {
        file: LEFT,
        right: 'return status === "waiting" ? { ...left, acceptDivergence: null } : left;',
        wrong: "return left;",
      },
    ],
    breaks: BREAKS,
    scenario: "resume-changed-later",
  },
  {
    what: "a change is accepted that came after the accepted one, since the worker that accepted that has died",
    patches: [
      {
        file: LEFT,
        right: 'has(["divergence.accepted"]) ? null : resume.acceptDivergence',
        wrong: "resume.acceptDivergence",
      },
    ],
    breaks: BREAKS,
    scenario: "resume-changed-twice",
    schedule: "pause after store.acceptDivergence 1; wake at the end",
  },
  {
    what: "a worker with an old agent continues with the consent to a new one",
    patches: [
      {
        file: "engine/turn/diverged-step.ts",
        right:
          "return changesHash === null || changesHash === details.changesHash ? acceptDivergence : null;",
        wrong: "return changesHash === null || details.changesHash !== undefined ? acceptDivergence : null;",
      },
    ],
    breaks: BREAKS,
    scenario: "resume-changed-twice",
    schedule: "pause after store.releaseRun 1; wake before store.requestResume 2",
  },
  {
    what: "each claim of a requested resume changes the limits again",
    patches: [
      {
        file: LEFT,
        right: "return { ...left, allowance: {}, takenSeq };",
        wrong: "return { ...left, takenSeq };",
      },
    ],
    breaks: BREAKS,
    scenario: "resume-from-milestone",
  },
];
