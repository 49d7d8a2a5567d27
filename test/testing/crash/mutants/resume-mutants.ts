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
        right: 'return has(["turn.dropped"]) ? { ...resume, redoTurn: false } : resume;',
        wrong: "return null;",
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
        right: 'return has(["turn.dropped"]) ? { ...resume, redoTurn: false } : resume;',
        wrong: "return { ...resume, redoTurn: false };",
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
        right: "{ ...resume, redoTurn: false } : resume",
        wrong: "{ ...resume, redoTurn: false, acceptDivergence: null } : resume",
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
    scenario: "resume-changed-twice",
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
