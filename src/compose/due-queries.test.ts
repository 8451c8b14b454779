import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readConfig } from '../config.ts'
import type { App } from './app-object.ts'
import { POLLED_JOBS } from './due-queries.ts'
import { GATEWAYS } from './gateways.ts'
import { backgroundJobs } from './jobs.ts'

it('the statement that polls for due work names only background jobs', () => {
  // A boundary: the jobs are listed and do not run, so they need no app.
  const names = backgroundJobs({} as App, readConfig({}, GATEWAYS)).map(({ name }) => name)
  assert.deepEqual(
    POLLED_JOBS.filter((name) => !names.includes(name)),
    [],
  )
})
