import type { ClientConfig } from '../config.ts'
import type { Clock } from '../kit/clock.ts'
import type { HttpClient } from '../kit/http-client.ts'
import type { Random } from '../kit/random.ts'
import type { KeyOption, MerchantClient } from './merchant-client.ts'
import type { OperatorClient } from './operator-client.ts'
import type { Envelope, Terminal } from './terminal.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** What every command works with. */
export interface Shell {
  /** What the process ends with when the command itself did not fail. */
  exitCode: number
  /** Undefined: the environment of the process. */
  env: Env | undefined
  terminal: Terminal
  clock: Clock
  random: Random
  /** Prints an envelope for scripts, or what people read. */
  show(envelope: Envelope, options: { json?: boolean }, renderText: () => string): void
  /** Does some work with the service, and lets the connections go afterwards. */
  withOperator<Result>(work: (operator: OperatorClient) => Promise<Result>): Promise<Result>
  withMerchant<Result>(
    options: KeyOption,
    work: (merchant: MerchantClient, context: ClientContext) => Promise<Result>,
  ): Promise<Result>
  /** Aborts when the person at the terminal wants to end a command that runs by itself until then. */
  untilInterrupted(): AbortSignal
}

/** What a command has beside the service. */
export interface ClientContext {
  http: HttpClient
  config: ClientConfig
  /** The same merchant, at the address that the service has now. */
  reconnect(): Promise<MerchantClient>
}
