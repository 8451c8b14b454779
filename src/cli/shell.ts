import type { ClientConfig, Role } from '../config.ts'
import type { Clock } from '../kit/clock.ts'
import type { HttpClient } from '../kit/http/http-client.ts'
import type { Random } from '../kit/random.ts'
import type { KeySource, MerchantClient } from './merchant-client.ts'
import type { OperatorClient } from './operator-client.ts'
import type { Envelope, Terminal } from './terminal.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** What `cowry serve` starts. */
export interface ServeOptions {
  role: Role
  /** The number of processes that share the port. */
  workers: number
  /** Print one line of JSON for scripts instead of the text for people. */
  json: boolean
}

/** What `cowry demo` writes. */
export interface DemoOptions {
  seed: number
  months: number
  payments: number
  /** Fill another merchant, although there is one. */
  again: boolean
  /** Called with the written share of the history, from 0 to 1. */
  onProgress(share: number): void
}

/** The merchant that `cowry demo` has filled, now or earlier. */
export interface FilledDemo {
  isNew: boolean
  merchantId: string
  name: string
  apiKey: string
  /** The address of the service. */
  url: string
  /** Its people, with a link that signs each in once, within a day. */
  people: { name: string; role: string; link: string }[]
}

/** What `cowry archive run` archives. */
export interface ArchiveOptions {
  dir: string
  /** The first month that stays; absent: by the settings. */
  before?: Date
  /** The name of a cell; absent: all of them. */
  cell?: string
  exportOnly: boolean
  /** Give the space back to the file system afterwards, which locks the tables. */
  compact: boolean
  onProgress(line: string): void
}

/** A month of a cell that was archived. */
export interface ArchivedMonth {
  cell: string
  before: string
  dropped: { table: string; rows: number; kept: number }[]
}

/** A file of an archive, as the database knows it. */
export interface RegisteredFile {
  cell: string
  before: string
  table: string
  state: string
  file: string
  sha256: string
  bytes: number
  rows: number
  droppedRows: number
}

/** The programs above this folder. main.ts passes them in, so that no command imports the service. */
export interface EntryPoints {
  /** Runs the service until a signal, and returns the exit code. */
  serve(env: Env | undefined, options: ServeOptions): Promise<number>
  /** Writes the generated documents, and returns their paths. */
  writeDocs(): Promise<string[]>
  /** Fills the database of a staging instance with a merchant and its history. */
  fillDemo(env: Env | undefined, options: DemoOptions): Promise<FilledDemo>
  /** Writes finished history to files and deletes it from the database. */
  archive(env: Env | undefined, options: ArchiveOptions): Promise<ArchivedMonth[]>
  listArchives(env: Env | undefined): Promise<RegisteredFile[]>
}

/** The environment of a command. */
export interface Shell {
  /** The exit code of the process if the command itself did not fail. */
  exitCode: number
  /** Undefined means the environment of the process. */
  env: Env | undefined
  terminal: Terminal
  entryPoints: EntryPoints
  clock: Clock
  random: Random
  /** Prints the envelope with --json, and the text otherwise. */
  show(envelope: Envelope, options: { json?: boolean }, renderText: () => string): void
  /** One call of the operators' API. */
  callOperator(...request: Parameters<OperatorClient['call']>): Promise<Envelope>
  /** Runs the callback with a client, and closes the connections afterwards. */
  withOperator<Result>(work: (operator: OperatorClient) => Promise<Result>): Promise<Result>
  withMerchant<Result>(
    options: KeySource,
    work: (merchant: MerchantClient, context: ClientContext) => Promise<Result>,
  ): Promise<Result>
  /** Aborts when the user interrupts a command that runs until then. */
  untilInterrupted(): AbortSignal
}

/** What a callback gets beside the client. */
export interface ClientContext {
  http: HttpClient
  config: ClientConfig
  /** Connects as the same merchant again, at the current address of the service. */
  reconnect(): Promise<MerchantClient>
}
