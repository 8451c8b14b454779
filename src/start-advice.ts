// Start errors with advice for the operator, where the cause is the machine, the database or the data folder.

import type { Config } from './config.ts'
import { DbUnavailable } from './kit/db/db.ts'
import { MigrationsReplaced } from './kit/db/migrate.ts'

type DatabasePlace = Pick<Config, 'databaseUrl' | 'dataDir'>

/** Errors of the embedded PostgreSQL contain their advice already. */
export function explainDatabase({ databaseUrl, dataDir }: DatabasePlace): (error: unknown) => never {
  return (error) => {
    if (error instanceof MigrationsReplaced) throw explainReplaced({ databaseUrl, dataDir }, error)
    if (databaseUrl === null || !(error instanceof DbUnavailable)) throw error
    const reason = error.cause instanceof Error ? error.cause.message : error.message
    const advice = 'It must exist, run and let this user in.'
    throw new Error(`the database of DATABASE_URL cannot be used: ${reason}. ${advice}`, { cause: error })
  }
}

function explainReplaced({ databaseUrl, dataDir }: DatabasePlace, cause: Error): Error {
  const reason = 'was made by version 0.1.0, which cannot be upgraded'
  const text =
    databaseUrl === null
      ? `the data folder ${dataDir} ${reason}: set COWRY_DATA_DIR to a new folder, or move this one away.`
      : `the database ${new URL(databaseUrl).pathname.slice(1)} ${reason}: set DATABASE_URL to an empty database.`
  return new Error(text, { cause })
}

const LISTEN_ADVICE: Record<string, string> = {
  EADDRINUSE: 'something else listens there. Stop it, or set PORT to another number.',
  EACCES: 'this user lacks the permission. Set PORT to a number above 1023.',
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
