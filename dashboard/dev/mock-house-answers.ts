import type { RunHead } from "../src/api/documents.ts";
import { mockComparison } from "./mock-comparison.ts";
import {
  mockActivity,
  mockAudit,
  mockFirings,
  mockSchedules,
  mockServer,
  mockSpend,
  mockTokens,
  mockWorkers,
} from "./mock-house.ts";

type Answered = { readonly status: number; readonly body: unknown };

const isEmpty = process.env.MOCK_EMPTY === "1";

/** The answers to pages about all runs; null for any other request. */
export function houseAnswer(method: string, url: URL, heads: readonly RunHead[]): Answered | null {
  const [, , room = "", id = "", act = ""] = url.pathname.split("/").map(decodeURIComponent);
  const ok = (body: unknown): Answered => ({ status: 200, body });
  const asOf = new Date().toISOString();
  switch (`${method} ${room}`) {
    case "GET spend":
      return ok(
        isEmpty
          ? {
              ...mockSpend(url.searchParams),
              buckets: [],
              total: { tokens: 0, microDollars: 0 },
              nearLimit: [],
            }
          : mockSpend(url.searchParams),
      );
    case "GET activity":
      return ok(
        isEmpty ? { asOf, ready: [], sleeping: [], running: [], held: [], waits: [] } : mockActivity(),
      );
    case "GET workers":
      return ok(isEmpty ? { items: [], asOf } : mockWorkers());
    case "GET schedules":
      if (id !== "") return ok(mockFirings());
      return ok(isEmpty ? { items: [], asOf } : mockSchedules());
    case "POST schedules":
      return ok({
        name: id,
        outcome: act === "fire" ? "started" : `${act}d`,
        runId: act === "fire" ? `${id}@2026-11-17T01:00Z` : null,
      });
    case "GET server":
      return ok(mockServer());
    case "POST integrity":
      return ok({
        problems: process.env.MOCK_BROKEN === "1" ? ["row 4711 missing from index runs_by_status"] : [],
        checkedAt: asOf,
      });
    case "GET tokens":
      return ok(mockTokens());
    case "POST tokens":
      return {
        status: 201,
        body: { token: mockTokens().items[1], secret: "pawl_Jb3x0Zp7m2Qy1sVn8Kc4Rt6Uw9Xe5Hf0Lg2Da7Bi4Eo" },
      };
    case "DELETE tokens":
      return { status: 204, body: undefined };
    case "GET audit":
      return ok(mockAudit(url.searchParams));
    case "GET compare":
      return ok(mockComparison(url.searchParams));
    case "GET runs": {
      const head = heads.find(({ runId }) => runId === id);
      return head === undefined || act !== "" ? null : ok({ head });
    }
    default:
      return null;
  }
}
