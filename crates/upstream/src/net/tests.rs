use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

#[tokio::test]
async fn tcp_connections_are_set_up_for_small_packets() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let address = Address::Tcp { host: "127.0.0.1".into(), port };
    let (made, accepted) = tokio::join!(Stream::connect(&address), listener.accept());
    let Stream::Tcp(stream) = made.unwrap() else { panic!("not TCP") };
    assert!(stream.nodelay().unwrap());
    assert!(SockRef::from(&stream).keepalive().unwrap());
    drop(accepted);
}

#[tokio::test]
async fn what_was_read_before_tls_is_read_again_first() {
    let (ours, mut theirs) = UnixStream::pair().unwrap();
    let mut socket = Socket::unix(BytesMut::from(&b"early "[..]), ours);
    theirs.write_all(b"late").await.unwrap();
    let mut seen = [0; 10];
    socket.read_exact(&mut seen).await.unwrap();
    assert_eq!(&seen, b"early late");
}

#[test]
fn only_plain_tcp_can_be_overheard() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let _guard = runtime.enter();
    let (ours, _theirs) = UnixStream::pair().unwrap();
    assert_eq!(Stream::Unix(ours).channel(), Channel::Socket);
}
