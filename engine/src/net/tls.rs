//! The server's side of TLS, from files or with a certificate of its own making.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{RootCertStore, ServerConfig};

use super::config::{ClientAuth, TlsConfig, TlsMode};
use crate::error::{Error, Result};

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

/// `None` when no TLS client can be served.
pub fn server_config(tls: &TlsConfig) -> Result<Option<Arc<ServerConfig>>> {
    if tls.mode == TlsMode::Disabled {
        return Ok(None);
    }
    let (chain, key) = match &tls.identity {
        Some((chain, key)) => from_files(chain, key)?,
        None if tls.self_signed => made_up()?,
        None if tls.mode == TlsMode::Enforcing => {
            return Err(Error::Config(
                "TLS is enforced without a certificate: give tls.server.certPath and tls.server.keyPath"
                    .into(),
            ));
        }
        None => return Ok(None),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(unusable)?;
    let builder = match client_verifier(tls, provider)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    builder.with_single_cert(chain, key).map(|config| Some(Arc::new(config))).map_err(unusable)
}

fn client_verifier(
    tls: &TlsConfig,
    provider: Arc<rustls::crypto::CryptoProvider>,
) -> Result<Option<Arc<dyn ClientCertVerifier>>> {
    if tls.client_auth == ClientAuth::None {
        return Ok(None);
    }
    let Some(trusted) = &tls.trusted else {
        return Err(Error::Config("clients cannot be checked without tls.server.trustCertPath".into()));
    };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(trusted)? {
        roots.add(certificate).map_err(unusable)?;
    }
    let builder = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
    let builder =
        if tls.client_auth == ClientAuth::Optional { builder.allow_unauthenticated() } else { builder };
    builder.build().map(Some).map_err(unusable)
}

pub fn from_files(chain: &Path, key: &Path) -> Result<Identity> {
    let key_der = PrivateKeyDer::from_pem_file(key).map_err(|error| {
        Error::Config(format!("the key {}: {error}; a PEM key without a password is needed", key.display()))
    })?;
    Ok((certificates(chain)?, key_der))
}

pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    CertificateDer::pem_file_iter(path)
        .and_then(Iterator::collect)
        .map_err(|error| Error::Config(format!("certificates of {}: {error}", path.display())))
}

fn made_up() -> Result<Identity> {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).map_err(unusable)?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    Ok((vec![made.cert.der().clone()], key.into()))
}

pub fn unusable(error: impl std::fmt::Display) -> Error {
    Error::Config(format!("TLS cannot be set up: {error}"))
}
