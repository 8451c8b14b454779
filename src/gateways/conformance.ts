// For tests: what every gateway must do, whoever the provider is. A connector's test file calls testConformance with a
// fake of its provider, and the real connector runs against it over a real socket. A verb that the connector does not
// have is not tested: capabilities are told by absence.

export {
  type ChargeManner,
  type Ending,
  type FakeProvider,
  PUBLIC_URL,
  type RefundManner,
  type Subject,
  type Webhook,
} from './conformance/subject.ts'
