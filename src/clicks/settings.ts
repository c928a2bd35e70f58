/** Settings of the click threads; plain data, because it crosses between threads. */
export interface ClickSettings {
  /** `embedded`, or the address of Kafka. */
  readonly stream: string;
  /** The folder of the click log, or, if the log is elsewhere, of the local state that must not be lost. */
  readonly logFolder: string;
  /** `sqlite`, or the address of ClickHouse. */
  readonly stats: string;
  /** The file of the counts if SQLite keeps them. */
  readonly warehousePath: string;
  /** Where clicks wait while the stream cannot be written, and how much of the disk they may take there. */
  readonly spillFolder: string;
  readonly spillBytesMax: number;
  /** Unique for each start of each process. */
  readonly producer: string;
  /** Keys the visitors' hashes. */
  readonly secret: Uint8Array;
  /** An MMDB file to use instead of the one that comes with Terse. */
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
