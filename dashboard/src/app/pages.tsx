import { lazy, type ReactNode, Suspense } from "react";
import { RunsPage } from "../pages/runs/runs-page.tsx";
import { EmptyState } from "../parts/empty-state.tsx";
import { Link } from "../parts/link.tsx";
import { Page } from "../parts/page.tsx";
import type { Place } from "./places.ts";

// The list of runs comes with the first load; every other page is fetched when it is opened.
const RunPage = lazy(() => import("../pages/run/run-page.tsx"));
const InboxPage = lazy(() => import("../pages/inbox/inbox-page.tsx"));
const ComparePage = lazy(() => import("../pages/compare/compare-page.tsx"));
const SpendPage = lazy(() => import("../pages/spend/spend-page.tsx"));
const HealthPage = lazy(() => import("../pages/health/health-page.tsx"));
const WorkersPage = lazy(() => import("../pages/workers/workers-page.tsx"));
const SchedulesPage = lazy(() => import("../pages/schedules/schedules-page.tsx"));
const AccessPage = lazy(() => import("../pages/access/access-page.tsx"));

export function Pages({ place }: { readonly place: Place }): ReactNode {
  return <Suspense fallback={null}>{pageAt(place)}</Suspense>;
}

function pageAt(place: Place): ReactNode {
  switch (place.page) {
    case "runs":
      return <RunsPage />;
    case "run":
      return <RunPage key={place.runId} runId={place.runId} />;
    case "inbox":
      return <InboxPage waitId={place.waitId} />;
    case "compare":
      return <ComparePage />;
    case "spend":
      return <SpendPage />;
    case "health":
      return <HealthPage />;
    case "workers":
      return <WorkersPage />;
    case "schedules":
      return <SchedulesPage />;
    case "access":
      return <AccessPage />;
    case "unknown":
      return (
        <Page title="Not found">
          <EmptyState title="There is no page at this address.">
            <Link href="/" className="text-accent hover:underline">
              All runs
            </Link>
          </EmptyState>
        </Page>
      );
  }
}
