/** What both ends of the click threads need to know; plain data, because it crosses between threads. */
export interface ClickSettings {
  /** `embedded`, or the address of Kafka. */
  readonly stream: string;
  /** Folder of the click log, or of what a process on this machine must not forget when the log is elsewhere. */
  readonly logFolder: string;
  /** `sqlite`, or the address of ClickHouse. */
  readonly stats: string;
  /** Where the counts are when SQLite has them. */
  readonly warehousePath: string;
  /** Where clicks wait while the stream cannot be written, and how much of the disk they may take there. */
  readonly spillFolder: string;
  readonly spillBytesMax: number;
  /** Unique for each start of each process. */
  readonly producer: string;
  /** Keys the visitors' hashes. */
  readonly secret: Uint8Array;
  /** An MMDB file instead of the one that comes with Terse; undefined for that one. */
  readonly geoPath: string | undefined;
  /** Our own hosts, which are no referrers. */
  readonly ownHosts: readonly string[];
  /** Clicks a minute of one address, or of one agent from few, beyond which they are suspicious; 0 for never. */
  readonly addressRate: number;
  readonly agentRate: number;
  /** Days that single clicks are kept. */
  readonly rawDays: number;
  /** Whether days go into an archive before they are removed. */
  readonly archives: boolean;
  /** Days that minutes are kept before they become quarter hours. */
  readonly minuteDays: number;
}
