import { z } from "zod";
import { append, defineSlice, upsertBy } from "../../src/session/slice.ts";

export const findings = defineSlice({
  name: "findings",
  schema: z.object({ file: z.string(), score: z.number() }),
  reducers: {
    Found: upsertBy(
      ({ file }) => file,
      ({ file, score }: { type: "Found"; file: string; score: number }) => ({ file, score }),
    ),
    Cleared: () => [],
  },
});

export const audit = defineSlice({
  name: "audit",
  kind: "log",
  schema: z.string(),
  reducers: {
    Found: append(({ file }: { type: "Found"; file: string }) => file),
    Cleared: append(() => "cleared"),
  },
});

export const found = (file: string, score = 1) => ({ type: "Found", file, score });
