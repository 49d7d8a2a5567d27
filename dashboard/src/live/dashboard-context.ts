import { createContext, useContext } from "react";
import type { Client } from "../api/client.ts";
import type { Me } from "../api/documents.ts";
import type { LiveStore } from "./live-store.ts";

/** What every page of a person who is signed in can use. */
export type Dashboard = {
  readonly client: Client;
  readonly live: LiveStore;
  readonly me: Me;
  readonly signOut: () => void;
};

export const DashboardContext = createContext<Dashboard | null>(null);

export function useDashboard(): Dashboard {
  const dashboard = useContext(DashboardContext);
  if (dashboard === null) throw new Error("A page is shown outside of the dashboard.");
  return dashboard;
}

/** False for viewers: acts are not shown to them at all. */
export function useMayAct(): boolean {
  return useDashboard().me.role !== "viewer";
}

/** False for people from whom contents are hidden: an export has all of them. */
export function useMayExport(): boolean {
  return !useDashboard().me.hidesContent;
}
