// What to do when the service cannot start for reasons of the machine, in words for whoever starts it.

import type { Config } from './config.ts'
import { DbUnavailable } from './kit/db/db.ts'

/** The private server explains itself; about somebody else's we can only say what it must be. */
export function explainDatabase({ databaseUrl }: Config): (error: unknown) => never {
  return (error) => {
    if (databaseUrl === null || !(error instanceof DbUnavailable)) throw error
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    const advice = 'It must exist, run and let this user in.'
    throw new Error(`the database of DATABASE_URL cannot be used: ${reason}. ${advice}`, { cause: error })
  }
}

const LISTEN_ADVICE: Record<string, string> = {
  EADDRINUSE: 'something else listens there. Stop it, or set PORT to another number.',
  EACCES: 'this user may not. Set PORT to a number above 1023.',
  EADDRNOTAVAIL: 'this machine does not have that address. Set HOST to one it has, or to 0.0.0.0 for all.',
}

export function explainListen(config: Config): (error: unknown) => never {
  return (error) => {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const advice = LISTEN_ADVICE[code]
    if (!advice) throw error
    throw new Error(`cannot listen on ${config.host}:${config.port}: ${advice}`, { cause: error })
  }
}
