import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { networksOf } from '../../core/networks.ts'
import { addMs } from '../../kit/clock.ts'
import { networkOfPhone, type Offer, readChoice, readFormState, redirectWithProblem } from './form.ts'

const NOW = new Date('2026-11-14T10:00:00Z')

const prompted = (country: string) =>
  networksOf(country).map((network) => ({ ...network, hasPage: false, isTestOnly: false, isSaved: false }))

const OFFER: Offer = {
  gateways: [],
  channels: ['card', 'mobile_money', 'bank_transfer'],
  instruments: [
    { name: 'mobile_success', channel: 'mobile_money', label: 'approved' },
    { name: 'transfer_success', channel: 'bank_transfer', label: 'arrives' },
  ],
  country: 'KE',
  asksPhone: true,
  contactChannels: [],
  networks: prompted('KE'),
  showsAccount: true,
  testOnlyChannels: [],
  savesCards: true,
  savesMobileMoney: false,
}

describe('the choice of a payer', () => {
  it('must be an offered channel', () => {
    assert.deepEqual(readChoice(OFFER, { channel: 'card' }), { channel: 'card', instrument: undefined })
    assert.deepEqual(readChoice(OFFER, {}), { kind: 'choice' })
    assert.deepEqual(readChoice(OFFER, { channel: 'cash' }), { kind: 'choice' })
    assert.deepEqual(readChoice({ ...OFFER, channels: ['card'] }, { channel: 'bank_transfer' }), {
      kind: 'choice',
    })
  })

  it('needs a phone number, from which the network is guessed', () => {
    assert.deepEqual(readChoice(OFFER, { channel: 'mobile_money', phone: '0712 345-678' }), {
      channel: 'mobile_money',
      instrument: undefined,
      phone: '+254712345678',
      network: 'mpesa_ke',
    })
    assert.deepEqual(readChoice(OFFER, { channel: 'mobile_money', phone: '12' }), {
      kind: 'phone',
      reason: 'too_short',
    })
    assert.deepEqual(readChoice(OFFER, { channel: 'mobile_money' }), { kind: 'phone', reason: 'missing' })
  })

  it('may name another network than the guess, but none of another country', () => {
    const form = { channel: 'mobile_money', phone: '0712345678' }
    const network = (code: string) => {
      const choice = readChoice(OFFER, { ...form, network: code })
      return 'network' in choice ? choice.network : choice
    }
    assert.equal(network('airtel_ke'), 'airtel_ke')
    assert.deepEqual(network('mtn_ug'), { kind: 'network' })
    assert.deepEqual(network('<script>'), { kind: 'network' })
    assert.equal(network(''), 'mpesa_ke')
  })

  it('needs no network if there is only one', () => {
    const choice = readChoice(
      { ...OFFER, country: 'CA', networks: [] },
      { channel: 'mobile_money', phone: '+1 506 234 5678' },
    )
    assert.deepEqual(choice, {
      channel: 'mobile_money',
      instrument: undefined,
      phone: '+15062345678',
      network: undefined,
    })
  })

  it('is only a network that the gateway prompts', () => {
    const form = { channel: 'mobile_money', phone: '0712345678' }
    const [mpesa, airtel, equitel] = prompted('KE')
    assert.ok(mpesa && airtel && equitel)
    const others = { ...OFFER, networks: [airtel, equitel] }
    assert.deepEqual(readChoice(others, form), { kind: 'network' })
    assert.deepEqual(readChoice(others, { ...form, network: 'mpesa_ke' }), { kind: 'network' })
    assert.equal(networkOfPhone(others, '0712345678'), null)
    const alone = readChoice({ ...OFFER, networks: [mpesa] }, form)
    assert.equal('network' in alone && alone.network, 'mpesa_ke')
  })

  it('needs no phone number if the gateway asks for it', () => {
    const choice = readChoice({ ...OFFER, asksPhone: false, networks: [] }, { channel: 'mobile_money' })
    assert.deepEqual(choice, { channel: 'mobile_money', instrument: undefined })
  })

  it('needs a phone number, which is not prompted, in a channel whose gateway wants one', () => {
    const offer: Offer = {
      ...OFFER,
      country: 'EG',
      asksPhone: false,
      networks: [],
      contactChannels: ['card'],
    }
    const card = { channel: 'card', instrument: undefined }
    assert.deepEqual(readChoice(offer, { channel: 'card', card_phone: '010 1234 5678' }), {
      ...card,
      contactPhone: '+201012345678',
    })
    assert.deepEqual(readChoice(offer, { channel: 'card', card_phone: '+254712345678' }), {
      ...card,
      contactPhone: '+254712345678',
    })
    const form = { channel: 'card', phone: '010 1234 5678' }
    assert.deepEqual(readChoice(offer, form), { kind: 'phone', reason: 'missing' })
    assert.deepEqual(readChoice(offer, { ...form, card_phone: '010' }), {
      kind: 'phone',
      reason: 'too_short',
    })
    const wallet = readChoice(offer, { channel: 'mobile_money', card_phone: '010 1234 5678' })
    assert.deepEqual(wallet, { channel: 'mobile_money', instrument: undefined })
  })

  it('needs no phone number for a network with a page of its own', () => {
    const networks = prompted('SN').map((one) => ({ ...one, hasPage: one.code === 'wave_sn' }))
    const offer = { ...OFFER, country: 'SN', networks }
    const wave = { channel: 'mobile_money', instrument: undefined, network: 'wave_sn' }
    const chosen = { channel: 'mobile_money', network: 'wave_sn' }
    assert.deepEqual(readChoice(offer, { ...chosen, phone: '77 123 45 67' }), wave)
    assert.deepEqual(
      readChoice({ ...offer, networks: networks.slice(0, 1), asksPhone: false }, { channel: 'mobile_money' }),
      wave,
    )
  })

  it('is never guessed where a wallet without prefixes is offered', () => {
    const offer = { ...OFFER, country: 'SN', networks: prompted('SN') }
    assert.deepEqual(readChoice(offer, { channel: 'mobile_money', phone: '77 123 45 67' }), {
      kind: 'network',
    })
    assert.equal(networkOfPhone(offer, '77 123 45 67'), null)
    const withoutWave = { ...offer, networks: offer.networks.filter(({ code }) => code !== 'wave_sn') }
    assert.equal(networkOfPhone(withoutWave, '77 123 45 67'), 'orange_sn')
  })

  it('accepts only a test instrument of the chosen channel', () => {
    const form = { mobile_money_instrument: 'transfer_success', bank_transfer_instrument: 'transfer_success' }
    const played = (channel: string) => {
      const choice = readChoice(OFFER, { ...form, channel, phone: '0712345678' })
      return 'instrument' in choice ? choice.instrument : choice
    }
    assert.equal(played('mobile_money'), undefined)
    assert.equal(played('bank_transfer'), 'transfer_success')
    assert.equal(played('card'), undefined)
  })
})

describe('the network of a phone number', () => {
  it('is suggested while the payer types, if it is known', () => {
    assert.equal(networkOfPhone(OFFER, '0712345678'), 'mpesa_ke')
    assert.equal(networkOfPhone(OFFER, '0712'), null)
    assert.equal(networkOfPhone({ networks: [], country: null }, 'hello'), null)
  })
})

describe('a problem with the checkout form', () => {
  const path = '/pay/abc'
  const form = { channel: 'mobile_money', network: 'airtel_ke', phone: '0712' }

  it('returns with the choice, and without the phone number in the URL', () => {
    const { redirectTo, cookies } = redirectWithProblem(path, form, { kind: 'phone', reason: 'too_short' })
    assert.equal(redirectTo, '/pay/abc?problem=phone&reason=too_short&channel=mobile_money&network=airtel_ke')
    assert.deepEqual(
      cookies.map(({ value, path: where }) => [value, where]),
      [['0712', path]],
    )
    const query = Object.fromEntries(new URL(redirectTo, 'https://x.example').searchParams)
    const sent = Object.fromEntries(cookies.map(({ name, value }) => [name, value]))
    assert.deepEqual(readFormState(OFFER.channels, query, sent, NOW), {
      channel: 'mobile_money',
      network: 'airtel_ke',
      phone: '0712',
      problem: { kind: 'phone', reason: 'too_short' },
    })
  })

  it('says how long to wait, and is not shown afterwards', () => {
    const until = addMs(NOW, 90_000)
    const { redirectTo } = redirectWithProblem(path, form, { kind: 'wait', until })
    const query = Object.fromEntries(new URL(redirectTo, 'https://x.example').searchParams)
    assert.deepEqual(readFormState(OFFER.channels, query, {}, NOW).problem, { kind: 'wait', until })
    assert.equal(readFormState(OFFER.channels, query, {}, until).problem, null)
  })

  it('is ignored if the URL was made up', () => {
    const state = (query: Record<string, string>) => readFormState(OFFER.channels, query, {}, NOW)
    assert.equal(state({ problem: 'wait', until: '-5' }).problem, null)
    assert.equal(state({ problem: 'wait', until: '99999999999' }).problem, null)
    assert.equal(state({ problem: '<b>' }).problem, null)
    assert.equal(state({ problem: 'phone', reason: '<b>' }).problem, null)
    assert.deepEqual(state({ channel: 'cash', network: 'none' }), {
      channel: null,
      network: null,
      phone: '',
      problem: null,
    })
  })

  it('keeps no more of the typed text than a phone number can have', () => {
    const { cookies } = redirectWithProblem(
      path,
      { phone: '7'.repeat(5_000) },
      { kind: 'phone', reason: 'too_long' },
    )
    assert.equal(cookies[0]?.value.length, 40)
  })
})
