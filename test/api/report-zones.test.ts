// Days in the zone of the merchant: at home, in reports and their files, and in the API.

import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { sql } from '../../src/kit/db/db.ts'
import { shiftDay } from '../../src/kit/time-zone.ts'
import { foldCollectionDeltas } from '../../src/reports/queries.ts'
import { assertApiError } from '../support/assertions.ts'
import { payWith } from '../support/builders.ts'
import { signInAs, type Visitor } from '../support/dashboard.ts'
import { tickingClock } from '../support/fake-clock.ts'
import { testService } from '../support/service.ts'

// Half past ten in the evening in UTC: in Nairobi the next day has begun.
const clock = tickingClock()
const lateEvening = new Date(clock.now()).setUTCHours(22, 30, 0, 0)
clock.advance(lateEvening - clock.now().getTime())
const utcDay = clock.now().toISOString().slice(0, 10)
const nextDay = shiftDay(utcDay, 1)

const service = await testService({ after }, { clock })
const PATH = '/api/v1/reports/collections'

const moveTo = sql<unknown>`update payments set created_at = $2, paid_at = $2 where id = $1`

describe('a payment at half past ten in the evening in UTC', () => {
  let merchant: Awaited<ReturnType<typeof service.newMerchant>>
  let person: Visitor

  before(async () => {
    merchant = await service.newMerchant()
    const changed = await service.admin.send('PATCH', `/admin/v1/merchants/${merchant.uuid}`, {
      body: JSON.stringify({ settings: { timeZone: 'Africa/Nairobi' } }),
      headers: { 'content-type': 'application/json' },
    })
    assert.equal(changed.http, 200, changed.text)
    person = await signInAs(service, merchant.uuid, 'finance')
    await payWith(merchant.api, 'card_success')
  })

  const report = async (query: string) => {
    const answer = await merchant.api.get(`${PATH}?${query}`)
    assert.equal(answer.http, 200, answer.text)
    return answer.body.data.map(({ day, payments }: { day: string; payments: number }) => [day, payments])
  }

  it('is of that day in UTC, which is the default of the API whatever the merchant has set', async () => {
    const period = `from=${utcDay}&to=${nextDay}`
    assert.deepEqual(await report(period), [[utcDay, 1]])
    assert.deepEqual(await report(`${period}&timeZone=UTC`), [[utcDay, 1]])
    assert.deepEqual(await report(''), [[utcDay, 1]])
  })

  it('is of the next day in Nairobi in the API, before and after the sums are folded', async () => {
    const check = async () => {
      const zone = 'timeZone=Africa/Nairobi'
      assert.deepEqual(await report(zone), [[nextDay, 1]])
      for (const groups of ['day', 'day,gateway,status']) {
        const rows = await report(`from=${utcDay}&to=${nextDay}&groupBy=${groups}&${zone}`)
        assert.deepEqual(rows, [[nextDay, 1]], groups)
      }
      for (const groups of ['currency', 'channel']) {
        const on = (day: string) => report(`from=${day}&to=${day}&groupBy=${groups}&${zone}`)
        assert.deepEqual([await on(utcDay), await on(nextDay)], [[], [[null, 1]]], groups)
      }
    }
    await check()
    await foldCollectionDeltas(service.db, 100_000)
    await check()
  })

  it('is of today at home, in the report and in its file', async () => {
    const home = (await person.get('/app')).text
    const [, today = ''] = home.split('data-part="today"')
    const [row = ''] = /<tr><td>KES.*?<\/tr>/.exec(today) ?? []
    assert.match(row, /1,250\.50.*KSh\s0<.*1 \/ 1/)
    const page = (await person.get('/app/reports')).text
    assert.ok(page.includes('Days are in the time zone Africa/Nairobi.'))
    assert.ok(page.includes(`name="to" type="date" value="${nextDay}"`))
    const file = (await person.get(`/app/reports/export?from=${nextDay}&to=${nextDay}&by=day`)).text
    assert.match(file.split('\r\n')[1] ?? '', new RegExp(`^"${nextDay}","KES","","","","1","1","1250\\.50"`))
    const before = (await person.get(`/app/reports/export?from=${utcDay}&to=${utcDay}&by=day`)).text
    assert.equal(before.split('\r\n')[1], '')
  })

  it('is of the day of a zone whose offset is no whole hour', async () => {
    // 04:00 in India and 04:15 in Nepal; 23:00 is 04:45 there.
    assert.deepEqual(await report('timeZone=Asia/Kolkata'), [[nextDay, 1]])
    assert.deepEqual(await report('timeZone=Asia/Kathmandu'), [[nextDay, 1]])
    assert.deepEqual(await report('timeZone=America/St_Johns'), [[utcDay, 1]])
  })

  it('needs a zone that exists', async () => {
    for (const zone of ['Mars/Base', '%2B03:00', ''])
      assertApiError(await merchant.api.get(`${PATH}?timeZone=${zone}`), 'validation_failed')
  })
})

describe('the days on which the clocks change', () => {
  it('have 23 and 25 hours', async () => {
    const { api } = await service.newMerchant()
    // The first and last quarter hours of both days in Berlin, and those around them.
    for (const at of [
      ...['2026-03-28T22:50:00Z', '2026-03-28T23:10:00Z', '2026-03-29T21:50:00Z', '2026-03-29T22:10:00Z'],
      ...['2026-10-24T21:50:00Z', '2026-10-24T22:10:00Z', '2026-10-25T22:50:00Z', '2026-10-25T23:10:00Z'],
    ])
      await service.db.query(moveTo, [(await payWith(api, 'card_success')).uuid, at])
    const check = async () => {
      const query = 'from=2026-01-01&to=2026-12-31&timeZone=Europe/Berlin'
      const { data } = (await api.get(`${PATH}?${query}`)).body
      assert.deepEqual(
        data.map(({ day, paidPayments }: { day: string; paidPayments: number }) => [day, paidPayments]),
        [
          ...[
            ['2026-03-28', 1],
            ['2026-03-29', 2],
            ['2026-03-30', 1],
          ],
          ...[
            ['2026-10-24', 1],
            ['2026-10-25', 2],
            ['2026-10-26', 1],
          ],
        ],
      )
    }
    await check()
    await foldCollectionDeltas(service.db, 100_000)
    await check()
  })
})
