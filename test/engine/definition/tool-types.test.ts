import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import {
  type RecoveryClass,
  type Tool,
  type ToolCallContext,
  type ToolDefinition,
  tool,
} from "../../../src/index.ts";

const inputSchema = z.object({ order: z.string(), cents: z.number().default(100) });

describe("the types of a tool", () => {
  it('refuse recovery "reconcile" without a function that looks a call up', () => {
    expect(() =>
      // @ts-expect-error It has no `reconcile`.
      tool({ name: "pay", description: "Pay.", inputSchema, recovery: "reconcile", execute: () => "paid" }),
    ).toThrow('has recovery "reconcile" and no reconcile function');
  });

  it("give `execute` and `reconcile` the parsed input, and `ctx.call` the arguments before", () => {
    const pay = tool({
      name: "pay",
      description: "Pay.",
      inputSchema,
      recovery: "reconcile",
      execute: ({ order, cents }, call) => {
        expectTypeOf(order).toEqualTypeOf<string>();
        expectTypeOf(cents).toEqualTypeOf<number>();
        expectTypeOf(call).toEqualTypeOf<ToolCallContext>();
        return { paid: cents };
      },
      reconcile: ({ order, cents }, call) => {
        expectTypeOf(order).toEqualTypeOf<string>();
        expectTypeOf(call).toEqualTypeOf<ToolCallContext>();
        return { status: "done", result: { paid: cents } };
      },
    });
    expectTypeOf(pay).toEqualTypeOf<Tool<{ order: string; cents?: number | undefined }, { paid: number }>>();
    expect(pay.reconcile).not.toBeNull();
  });

  it("need no look-up for any other recovery class, and accept one", () => {
    const execute = () => "paid";
    const reconcile = () => ({ status: "absent" }) as const;
    for (const recovery of ["repeat", "keyed", "opaque"] as const)
      expect(tool({ name: "pay", description: "Pay.", inputSchema, recovery, execute }).reconcile).toBeNull();
    const keyed = tool({
      name: "pay",
      description: "Pay.",
      inputSchema,
      recovery: "keyed",
      execute,
      reconcile,
    });
    expectTypeOf(keyed).toEqualTypeOf<Tool<{ order: string; cents?: number | undefined }, string>>();
    expect(tool({ name: "pay", description: "Pay.", inputSchema, execute }).recovery).toBeNull();
  });

  it("accept a recovery class and a definition that are only known at run time", () => {
    const pay = (recovery: RecoveryClass) =>
      tool({ name: "pay", description: "Pay.", inputSchema, recovery, execute: ({ order }) => order });
    expect(pay("keyed").recovery).toBe("keyed");
    const definition: ToolDefinition<{ order: string }, string> = {
      description: "Pay.",
      inputSchema: z.object({ order: z.string() }),
      execute: ({ order }) => order,
    };
    expectTypeOf(tool(definition)).toEqualTypeOf<Tool<unknown, string>>();
    expect(tool(definition).name).toBeNull();
  });
});
