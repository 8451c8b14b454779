import assert from 'node:assert/strict'
import { after, describe, it } from 'node:test'
import pg from 'pg'
import { testDatabaseUrl } from '../../test/support/database.ts'
import { scansOf } from '../../test/support/query-plans.ts'

const connectionString = await testDatabaseUrl({ after })

// Ten thousand merchants with one endpoint each.
const SEED = `
set session_replication_role = replica;
insert into webhook_endpoints (
  merchant_id, id, url, events, status, secret_sealed, secret_request_id, checked_from, created_at, updated_at
)
select
  gen_random_uuid(), gen_random_uuid(), 'https://shop.example/', '{*}', 'enabled', 'v1.x', gen_random_uuid(), now(), now(),
  now()
from generate_series(1, 10000);
reset session_replication_role;
analyze webhook_endpoints`

// The variables of the function, which hold the events that were added.
const VARIABLES =
  '$1::uuid[], $2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::integer[], $7::timestamptz[]'

describe('the fan-out of events', () => {
  it('reads the endpoints of the events’ merchants by index, not all endpoints (0013_row_level_security.sql)', async (t) => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    t.after(() => client.end())
    await client.query(SEED)
    const { rows } = await client.query<{ source: string }>(
      `select prosrc as source from pg_proc where proname = 'fan_out_events'`,
    )
    const text = /with wanted [^;]*/
      .exec(rows[0]?.source ?? '')?.[0]
      ?.replace(/unnest\(merchant_ids,[^)]*\)/, `unnest(${VARIABLES})`)
    const scans = await scansOf(client, {
      name: 'fan_out',
      text: text ?? assert.fail('fan_out_events reads no endpoints'),
    })
    assert.deepEqual(
      scans
        .filter(({ table }) => table === 'webhook_endpoints')
        .map(({ index, isWhole }) => [index, isWhole]),
      [['webhook_endpoints_not_deleted', false]],
    )
  })

  it('is planned once for each connection, not for the events of each statement (0081_one_plan_of_the_fan_out.sql)', async (t) => {
    const client = new pg.Client({ connectionString })
    await client.connect()
    t.after(() => client.end())
    const { rows } = await client.query<{ settings: string[] }>(
      `select proconfig as settings from pg_proc where proname = 'fan_out_events'`,
    )
    assert.ok(rows[0]?.settings.includes('plan_cache_mode=force_generic_plan'))
  })
})
