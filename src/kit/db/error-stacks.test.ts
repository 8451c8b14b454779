// A logged error of the database names the code that sent the statement.

import assert from 'node:assert/strict'
import { after, it } from 'node:test'
import { testDatabase } from '../../../test/support/database.ts'
import { sql } from './db.ts'

const db = await testDatabase({ after })
const divideByZero = sql<unknown>`select 1 / 0`

it('an error of a statement has the caller in its stack', async () => {
  const sendFromHere = async () => await db.query(divideByZero)
  await assert.rejects(sendFromHere(), (error: Error) => {
    assert.match(error.stack ?? '', /sendFromHere/)
    return true
  })
})
