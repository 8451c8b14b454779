import { money } from '../../../src/core/money.ts'
import { SSLCOMMERZ } from '../../../src/gateways/sslcommerz/index.ts'
import { testConformance } from '../conformance.ts'
import { STORE, startFakeSslcommerz, tranIdOf } from './fake.ts'

testConformance({
  name: SSLCOMMERZ.name,
  credentials: STORE,
  otherCredentials: { storeId: 'otherbox5f41517d60625', storePassword: 'otherbox5f41517d60625@ssl' },
  amount: money(125_050n, 'BDT'),
  country: 'BD',
  declines: [
    { how: 'FAILED', code: 'do_not_honor', on: 'checkout' },
    { how: 'FAILED: Insufficient balance', code: 'insufficient_funds', on: 'checkout' },
    { how: 'FAILED: A reason from tomorrow', code: 'do_not_honor', on: 'checkout' },
    { how: 'CANCELLED', code: 'customer_cancelled', on: 'checkout' },
    { how: 'UNATTEMPTED', code: 'customer_timeout', on: 'checkout' },
    { how: 'EXPIRED', code: 'customer_timeout', on: 'checkout' },
  ],
  credentialsInQuery: 'the validator takes the store password in the query alone',
  unsignedCallbacks: true,
  nameOf: tranIdOf,
  unfindableRefunds: true,
  refundsByGet: true,
  start: startFakeSslcommerz,
  open: SSLCOMMERZ.open,
})
