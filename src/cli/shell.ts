import type { OperatorClient } from './operator-client.ts'
import type { Envelope } from './terminal.ts'

export type Env = Readonly<Record<string, string | undefined>>

/** What every command works with. */
export interface Shell {
  /** What the process ends with when the command itself did not fail. */
  exitCode: number
  /** Undefined: the environment of the process. */
  env: Env | undefined
  /** Prints an envelope for scripts, or what people read. */
  show(envelope: Envelope, options: { json?: boolean }, forPeople: () => string): void
  /** Does some work with the service, and lets the connections go afterwards. */
  withOperator<Result>(work: (operator: OperatorClient) => Promise<Result>): Promise<Result>
}
