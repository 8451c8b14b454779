// Which advice the operator reads when the database cannot be used.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import { MigrationsReplaced } from './kit/db/migrate.ts'
import { explainDatabase } from './start-advice.ts'

const replaced = new MigrationsReplaced('0001_merchants.sql')

it('a data folder of version 0.1.0 is refused with its name and what to do', () => {
  assert.throws(
    () => explainDatabase({ databaseUrl: null, dataDir: '/srv/cowry' })(replaced),
    /^Error: the data folder \/srv\/cowry was made by version 0\.1\.0, which cannot be upgraded: set COWRY_DATA_DIR to a new folder/,
  )
})

it('a database of version 0.1.0 is refused with its name, without its password', () => {
  const databaseUrl = 'postgres://cowry:secret-word@127.0.0.1:5432/payments'
  assert.throws(
    () => explainDatabase({ databaseUrl, dataDir: '.cowry' })(replaced),
    (error: Error) =>
      /^the database payments was made by version 0\.1\.0, which cannot be upgraded: set DATABASE_URL to an empty database\.$/.test(
        error.message,
      ) && !error.message.includes('secret-word'),
  )
})
