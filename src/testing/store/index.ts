export {
  type ConformanceDatabase,
  type OpenConformanceDatabase,
  type StoreCheck,
  storeConformance,
} from "./store-conformance.ts";
